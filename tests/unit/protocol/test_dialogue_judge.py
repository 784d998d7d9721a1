"""check_transcript and replies_to: each way not to conform is named, and no bytes make the judge raise."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import dialogue as d
from protocol import messages as m
from protocol.codec import LineError

READY = b'{"type":"ready","protocol":["1.0"],"agent":{"name":"a"}}'
DONE = b'{"type":"trajectory","status":"completed","output":{"text":"x"}}'
CALL = b'{"type":"tool_call","id":"1","name":"policy_lookup","arguments":{}}'
ALL = {one.name: one for one in d.load_dialogues()}
HELLO = ALL["hello-plain"]


def test_the_healthy_transcripts_conform() -> None:
    assert d.check_transcript(HELLO, [READY, DONE], True, 0) == []
    assert d.check_transcript(ALL["tool-ok"], [READY, CALL, DONE], True, 0) == []
    assert d.check_transcript(ALL["cancel"], [READY], True, 1) == []
    assert d.check_transcript(ALL["stdin-closed"], [READY], True, None) == []
    failed = DONE.replace(b"completed", b"failed")
    assert d.check_transcript(HELLO, [READY, failed], True, 3) == []


@pytest.mark.parametrize(
    ("lines", "ended", "code", "says"),
    [
        ([], True, 0, "no valid line"),
        ([READY], True, 0, "no `trajectory`"),
        ([DONE], True, 0, "line 1: expected `ready` before anything else, came `trajectory`"),
        ([b"Loading model...", READY, DONE], True, 0, "line 1: bad_json at byte 0"),
        ([READY, DONE, DONE], True, 0, "line 3: expected one `trajectory`, came 2"),
        ([READY, DONE, b"bye"], True, 0, "line 3: expected nothing after the `trajectory` of line 2"),
        ([READY, READY, DONE], True, 0, "line 2: a second `ready`"),
        ([READY.replace(b"1.0", b"2.0"), DONE], True, 0, "Fumehood speaks 1.0, the agent 2.0"),
        ([READY, CALL, CALL, DONE], True, 0, "line 3: `tool_call` uses the id 1 again"),
        ([READY, DONE], False, None, "still running; expected it to exit by itself after its `trajectory`"),
        ([READY, DONE], True, 3, "exit status 3"),
        ([READY, DONE.replace(b'"text":"x"', b'"text":" "')], True, 0, "neither text nor data"),
        ([READY, LineError("incomplete_line", 3, "m"), DONE], True, 0, "line 2: incomplete_line at byte 3: m"),
    ],
)
def test_what_does_not_conform_is_named(
    lines: list[bytes | LineError], ended: bool, code: int | None, says: str
) -> None:
    assert any(says in problem for problem in d.check_transcript(HELLO, lines, ended, code))


def test_a_call_without_invoke_does_not_conform() -> None:
    assert d.check_transcript(ALL["cancel"], [READY, CALL], True, 0) == [
        "line 2: `tool_call` though no `invoke` was sent"
    ]
    assert d.check_transcript(ALL["stdin-closed"], [READY], False, None) == [
        "still running; expected it to exit by itself after end of file on stdin"
    ]


@given(
    lines=st.lists(st.binary(max_size=60) | st.sampled_from([READY, DONE, CALL]), max_size=6),
    name=st.sampled_from(sorted(ALL)),
    ended=st.booleans(),
    code=st.none() | st.integers(-300, 300),
)
def test_no_transcript_makes_the_judge_raise(lines: list[bytes], name: str, ended: bool, code: int | None) -> None:
    problems = d.check_transcript(ALL[name], lines, ended, code)
    assert all(problem.isascii() and problem.isprintable() for problem in problems)
    if not lines:
        assert problems


def test_replies_follow_the_dialogue() -> None:
    call = m.ToolCall(id="1", name="policy_lookup", arguments={})
    model = m.ModelCall(id="2", request={})
    ask = m.Ask(id="3", content="?")
    status = {name: [getattr(reply, "status", None) for reply in d.replies_to(one, call)] for name, one in ALL.items()}
    assert status == {
        "hello-plain": ["denied"],
        "messages": ["denied"],
        "unknown-fields": ["ok"],
        "tool-ok": ["ok"],
        "tool-denied": ["denied"],
        "tool-error": ["error"],
        "big-input": ["denied"],
        "cancel": ["denied"],
        "stdin-closed": [],
    }
    assert d.replies_to(HELLO, ask) == (m.Answer(id="3", content="Yes, please."),)
    (failed,) = d.replies_to(ALL["tool-error"], model)
    assert isinstance(failed, m.ModelResult)
    assert failed.error
    assert d.replies_to(ALL["cancel"], ask) == ()
    assert d.replies_to(HELLO, m.State(snapshot=1)) == ()


@pytest.mark.parametrize("api", [None, "chat", "responses", "messages", "embeddings", "models"])
def test_a_model_answers_in_the_shape_it_is_asked_in_whole_and_streamed(api: str | None) -> None:
    call = m.ModelCall(id="2", request={} if api is None else {"api": api})
    (whole,) = d.replies_to(HELLO, call)
    chunks = d.replies_to(HELLO, msgspec.structs.replace(call, stream=True))
    assert isinstance(whole, m.ModelResult)
    assert whole.response
    assert [isinstance(chunk, m.ModelChunk) and chunk.done for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    if api is not None:
        assert all(set(chunk.delta) == {"event", "data"} for chunk in chunks if isinstance(chunk, m.ModelChunk))


def test_an_api_that_is_none_is_an_error() -> None:
    for api in ("other", 3, None):
        (reply,) = d.replies_to(HELLO, m.ModelCall(id="2", request={"api": api}))
        assert isinstance(reply, m.ModelResult)
        assert reply.status == 400
