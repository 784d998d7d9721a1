"""The cassette: what is the same request, whose answer it is, what is on file, and what a miss is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.canary import masked, unmasked
from harness.errors import CassetteMiss, PackFault, UsageError
from harness.models.broker import Broker
from harness.models.cassette import Cassette, Player, Recorder, TrialRecorder, digest, tool_digest
from harness.models.tool_player import ToolPlayer
from harness.ports import ModelAnswer, ToolAnswer
from tests.unit.models.clients import Saying

pytestmark = pytest.mark.anyio


def same(value: Any) -> Any:
    return value


def hi(text: str = "Hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


async def record(path: Path, trial: str, *asked: tuple[dict[str, Any], str]) -> None:
    """Requests with their answers, as one trial asked them."""
    recorder = TrialRecorder(Recorder(path), trial, same)
    for request, said in asked:
        await Broker(Saying(content=said), recorder=recorder).complete(request, False, None)


async def played(path: Path, trial: str, *asked: dict[str, Any], stream: bool = False) -> list[Any]:
    broker = Broker(Player(Cassette(path), trial, same, same))
    answers = [await broker.complete(request, stream, None) for request in asked]
    return [
        answer.chunks if stream else (answer.response or {})["choices"][0]["message"]["content"] for answer in answers
    ]


async def test_what_was_recorded_is_what_is_played(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    source = Saying(content="Hello.")
    broker = Broker(source, recorder=TrialRecorder(Recorder(path), "a/s/1", same))
    before = await broker.complete(hi(), False, None)
    after = await Broker(Player(Cassette(path), "a/s/1", same, same)).complete(hi(), False, None)
    assert after == before


async def test_equal_requests_are_answered_in_the_order_they_were(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(), "one"), (hi("other"), "else"), (hi(), "two"))
    assert await played(path, "a/s/1", hi(), hi(), hi("other")) == ["one", "two", "else"]
    with pytest.raises(CassetteMiss):
        await played(path, "a/s/1", hi(), hi(), hi())


async def test_each_trial_has_its_own_answers_and_a_new_one_those_of_all(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(), "first"))
    await record(path, "a/s/2", (hi(), "second"))
    assert await played(path, "a/s/2", hi()) == ["second"]
    assert await played(path, "b/s/7", hi(), hi()) == ["first", "second"]


async def test_a_trial_that_begins_again_replaces_what_it_recorded(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(), "of an attempt that failed"))
    await record(path, "a/s/1", (hi(), "good"))
    assert await played(path, "a/s/1", hi()) == ["good"]


async def test_the_shape_a_request_came_in_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(max_tokens=9), "one"))
    message = {"api": "messages", "model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    answer = await Broker(Player(Cassette(path), "a/s/1", same, same)).complete(message, False, None)
    assert (answer.response or {})["content"] == [{"type": "text", "text": "one"}]


async def test_a_stream_may_be_played_from_what_was_none(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(), "one"))
    ((first, last),) = await played(path, "a/s/1", hi(stream=True), stream=True)
    assert (first["content"], last) == ("one", {"finish_reason": "stop"})


async def test_errors_are_recorded_too(tmp_path: Path) -> None:
    class Refusing:
        async def complete(self, request: Any) -> ModelAnswer:
            return ModelAnswer(None, 0, 0, 0.0, error="too long", status=400)

    path = tmp_path / "tape"
    await Broker(Refusing(), recorder=TrialRecorder(Recorder(path), "t", same)).complete(hi(), False, None)
    answer = await Broker(Player(Cassette(path), "t", same, same)).complete(hi(), False, None)
    assert (answer.error, answer.status, answer.response) == ("too long", 400, None)


async def test_a_miss_is_blamed_on_the_recording_and_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "a/s/1", (hi(), "one"))
    with pytest.raises(PackFault) as caught:
        await played(path, "a/s/1", hi("never asked"))
    error = caught.value
    assert (error.code, error.blame, error.exit_code) == ("cassette_miss", "pack", 6)
    assert digest(hi("never asked"))[:12] in error.message
    assert "record it again" in error.remedy


async def test_values_that_differ_in_every_run_are_put_back(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    old, new = {"CODE": "zq81-old"}, {"CODE": "kk27-new"}
    recorder = TrialRecorder(Recorder(path), "t", lambda value: masked(value, old))
    await Broker(Saying(content="it is zq81-old {{canary:NO}}"), recorder=recorder).complete(
        hi("zq81-old?"), False, None
    )
    assert b"zq81" not in path.read_bytes()
    player = Player(Cassette(path), "t", lambda value: masked(value, new), lambda value: unmasked(value, new))
    answer = await Broker(player).complete(hi("kk27-new?"), False, None)
    assert (answer.response or {})["choices"][0]["message"]["content"] == "it is kk27-new {{canary:NO}}"


async def told(path: Path, trial: str, *calls: tuple[int, dict[str, Any], Any]) -> None:
    """Answers to calls of `look`: each with its number, in the order in which they came."""
    recorder = TrialRecorder(Recorder(path), trial, same)
    for number, arguments, content in calls:
        await recorder.put_tool(number, "look", arguments, ToolAnswer("ok", content, delay_ms=7))


def heard(path: Path, trial: str, *calls: dict[str, Any], tool: str = "look") -> list[Any]:
    player = ToolPlayer(Cassette(path), trial, same, same)
    return [player.call(tool, arguments).content for arguments in calls]


async def test_equal_calls_of_a_tool_are_answered_in_the_order_they_were_made(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await told(path, "a/s/1", (2, {"q": 1}, "second"), (3, {"q": 2}, "else"), (1, {"q": 1.0}, "first"))
    assert heard(path, "a/s/1", {"q": 1}, {"q": 2}, {"q": 1}) == ["first", "else", "second"]


async def test_each_trial_has_its_own_answers_of_tools_and_a_new_one_those_of_all(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await told(path, "a/s/1", (9, {}, "of an attempt that failed"))
    await told(path, "a/s/1", (9, {}, "one"))
    await told(path, "a/s/2", (1, {}, "two"))
    assert (heard(path, "a/s/2", {}), heard(path, "b/s/7", {}, {})) == (["two"], ["one", "two"])


@pytest.mark.parametrize(("tool", "calls"), [("look", [{}, {}]), ("look", [{"q": 1}]), ("other", [{}]), ("", [{}])])
async def test_a_call_of_a_tool_that_is_not_on_the_cassette_is_a_miss(
    tmp_path: Path, tool: str, calls: list[dict[str, Any]]
) -> None:
    path = tmp_path / "tape"
    await told(path, "t", (1, {}, "one"))
    with pytest.raises(CassetteMiss) as caught:
        heard(path, "t", *calls, tool=tool)
    assert tool_digest(tool, calls[-1])[:12] in caught.value.message
    assert "record it again" in caught.value.remedy


async def test_a_cassette_from_before_tools_were_recorded_has_its_models_and_no_tool(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_text(
        '{"type":"cassette","version":1}\n{"type":"take","trial":"t"}\n'
        f'{{"type":"answer","trial":"t","digest":"{digest(hi())}","input_tokens":1,"output_tokens":1,'
        '"response":{"choices":[{"message":{"content":"old"}}]}}\n'
    )
    assert await played(path, "t", hi()) == ["old"]
    with pytest.raises(CassetteMiss):
        heard(path, "t", {})
    await told(path, "u", (1, {}, "new"))
    assert (await played(path, "t", hi()), heard(path, "u", {})) == (["old"], ["new"])


async def test_models_and_tools_of_a_trial_are_on_one_cassette_and_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    recorder = TrialRecorder(Recorder(path), "t", same)
    await Broker(Saying(content="said"), recorder=recorder).complete(hi(), False, None)
    await recorder.put_tool(1, "look", {}, ToolAnswer("error", {"code": "GONE"}, "it is gone"))
    assert await played(path, "t", hi()) == ["said"]
    answer = ToolPlayer(Cassette(path), "t", same, same).call("look", {})
    assert answer == ToolAnswer("error", {"code": "GONE"}, "it is gone")


async def test_of_tools_too_what_differs_in_every_run_is_put_back(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    old, new = {"CODE": "zq81-old"}, {"CODE": "kk27-new"}
    recorder = TrialRecorder(Recorder(path), "t", lambda value: masked(value, old))
    await recorder.put_tool(1, "look", {"q": "zq81-old"}, ToolAnswer("error", ["is zq81-old"], "no zq81-old"))
    assert b"zq81" not in path.read_bytes()
    player = ToolPlayer(Cassette(path), "t", lambda value: masked(value, new), lambda value: unmasked(value, new))
    assert player.call("look", {"q": "kk27-new"}) == ToolAnswer("error", ["is kk27-new"], "no kk27-new")


async def test_trials_side_by_side_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    text = "x" * 200_000

    async def trial(number: int) -> None:
        recorder = TrialRecorder(Recorder(path), f"t{number}", same)
        for call in range(5):
            await Broker(Saying(content=f"{number}.{call} {text}"), recorder=recorder).complete(
                hi(str(call)), False, None
            )

    async with anyio.create_task_group() as tasks:
        for number in range(6):
            tasks.start_soon(trial, number)
    for number in range(6):
        said = await played(path, f"t{number}", *(hi(str(call)) for call in range(5)))
        assert [words.split()[0] for words in said] == [f"{number}.{call}" for call in range(5)]


async def test_a_line_that_was_cut_off_is_left_out_and_the_next_run_goes_on_after_it(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    await record(path, "t", (hi(), "one"))
    with path.open("ab") as file:
        file.write(b'{"type":"answer","tri')
    assert await played(path, "t", hi()) == ["one"]
    await record(path, "u", (hi(), "two"))
    assert await played(path, "u", hi()) == ["two"]


@pytest.mark.parametrize(
    "data", [b"hello\n", b"{}\n", b'{"type":"take","trial":"x"}\n', b'{"type":"cassette","version":2}\n', b"\n"]
)
def test_a_file_that_is_no_cassette_is_neither_played_nor_overwritten(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tape"
    path.write_bytes(data)
    with pytest.raises(UsageError):
        Cassette(path)
    with pytest.raises(UsageError):
        Recorder(path)
    assert path.read_bytes() == data
    with pytest.raises(UsageError):
        Cassette(tmp_path / "missing")
    with pytest.raises(UsageError):
        Recorder(tmp_path / "no" / "folder")


NEUTRAL_FIELDS = st.dictionaries(
    st.sampled_from(["user", "metadata", "stream", "stream_options", "store", "service_tier", "prompt_cache_key"]),
    st.none() | st.booleans() | st.text(max_size=5),
)
VALUES = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=4)


@given(VALUES, NEUTRAL_FIELDS, st.randoms())
def test_the_digest_knows_what_is_asked_and_nothing_else(
    asked: dict[str, Any], neutral: dict[str, Any], random: Any
) -> None:
    names = [*asked, *neutral]
    random.shuffle(names)
    shuffled = {name: {**asked, **neutral}[name] for name in names}
    plain = {name: value for name, value in asked.items() if name not in neutral}
    assert digest(shuffled) == digest(plain)
    assert digest({**plain, "temperature": 1}) == digest({**plain, "temperature": 1.0}) != digest(plain)
    assert digest({**plain, "temperature": None}) == digest(plain)
