"""OpenAIJudge against a real HTTP server: what it asks, what it settles for, and what a bad server cannot do."""

from __future__ import annotations

import gzip
import json
import re
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.domain.judge import JudgeRef, JudgeSettings
from harness.errors import UpstreamError, UsageError
from harness.models.dialect import Dialect
from harness.models.judge import OpenAIJudge
from harness.ports import JudgePrompt, JudgeReply
from tests.openai_server import (
    OpenAIServer,
    Request,
    Step,
    cut,
    drips,
    echoes,
    fails,
    filtered,
    floods,
    hangs,
    limited,
    raw,
    redirects,
    refuses,
    rejects,
    says,
)

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789abcdef"
SCHEMA = {"type": "object", "properties": {"met": {"type": "boolean"}}, "required": ["met"]}
PROMPT = JudgePrompt("You judge.", "Is it met?", SCHEMA)
ONCE = JudgeSettings(retries=0, timeout_ms=5000)


@asynccontextmanager
async def asked_at(url: str, settings: JudgeSettings = ONCE, key: str = KEY) -> AsyncIterator[OpenAIJudge]:
    judge = OpenAIJudge(JudgeRef("m-1", url), settings, key)
    try:
        yield judge
    finally:
        await judge.aclose()


async def ask(server: OpenAIServer, settings: JudgeSettings = ONCE, prompt: JudgePrompt = PROMPT) -> JudgeReply:
    async with asked_at(server.url, settings) as judge:
        return await judge.ask(prompt)


async def test_what_is_asked_is_the_prompt_its_schema_and_the_settings() -> None:
    with OpenAIServer(says('{"met": true}')) as server:
        settings = JudgeSettings(temperature=0.25, seed=40, answer_tokens=77)
        reply = await ask(server, settings, JudgePrompt("sys", "user", SCHEMA, sample=2))
    assert reply == JudgeReply('{"met": true}', 12, 7)
    (sent,) = server.requests
    assert sent.path == "/v1/chat/completions"
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert sent.body == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "sys"}, {"role": "user", "content": "user"}],
        "max_tokens": 77,
        "temperature": 0.25,
        "seed": 42,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA},
        },
    }


async def test_no_key_of_the_environment_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which key goes to which server is its caller's word; openai would help itself."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    with OpenAIServer(says("{}")) as server:
        async with asked_at(server.url, key="") as judge:
            await judge.ask(PROMPT)
    assert "sk-" not in str(server.requests[0].headers)


def form(body: dict[str, Any]) -> tuple[str, bool] | None:
    given = body.get("response_format")
    return (given["type"], "schema" in given) if given else None


def takes(bad: Callable[[dict[str, Any]], str | None]) -> Callable[[dict[str, Any]], str | Step]:
    """A server that names what it does not take, or answers."""

    def answer(body: dict[str, Any]) -> str | Step:
        complaint = bad(body)
        return "{}" if complaint is None else fails(400, complaint)

    return answer


async def test_a_server_without_schemas_is_asked_for_json_and_then_for_nothing() -> None:
    with OpenAIServer(answer=takes(lambda body: "response_format is unknown" if form(body) else None)) as server:
        async with asked_at(server.url) as judge:
            await judge.ask(PROMPT)
            await judge.ask(PROMPT)
    assert [form(body) for body in server.bodies] == [
        ("json_schema", False), ("json_object", True), ("json_object", False), None, None,
    ]  # fmt: skip


async def test_each_parameter_a_server_names_is_left_out_and_stays_out() -> None:
    def bad(body: dict[str, Any]) -> str | None:
        for name in ("temperature", "seed", "max_tokens"):
            if name in body:
                return f"'{name}' is not supported with this model"
        return None

    with OpenAIServer(answer=takes(bad)) as server:
        async with asked_at(server.url) as judge:
            await judge.ask(PROMPT)
            await judge.ask(PROMPT)
    assert len(server.requests) == 5
    for body in server.bodies[-2:]:
        assert {"temperature", "seed", "max_tokens"} & set(body) == set()
        assert body["max_completion_tokens"] == 1500
        assert form(body) == ("json_schema", False)


@pytest.mark.parametrize(
    "complaint",
    [
        fails(400, "no such thing", param="response_format"),
        fails(404, "no endpoint supports structured outputs"),
        raw(json.dumps({"detail": [{"loc": ["body", "response_format", "type"], "msg": "bad literal"}]}), 422),
        raw("response_format: unknown field", 400),
        fails(500, "1 validation error: {'loc': ('body', 'response_format', 'type'), 'input': 'json_schema'}"),
    ],
)
async def test_a_complaint_is_understood_in_every_wording(complaint: Step) -> None:
    with OpenAIServer(complaint, says("{}")) as server:
        assert (await ask(server)).text == "{}"
    assert [form(body) for body in server.bodies] == [("json_schema", False), ("json_object", True)]


async def test_a_complaint_that_names_nothing_is_tried_once_without_a_form() -> None:
    with OpenAIServer(fails(400, "bad request"), says("{}")) as server:
        assert (await ask(server)).text == "{}"
    assert form(server.bodies[1]) is None
    with OpenAIServer(fails(400, "bad request")) as server, pytest.raises(UpstreamError, match="bad request"):
        await ask(server)
    assert len(server.requests) == 2


async def test_a_call_that_failed_teaches_nothing() -> None:
    with OpenAIServer(rejects("seed"), fails(401), says("{}")) as server:
        async with asked_at(server.url) as judge:
            with pytest.raises(UpstreamError):
                await judge.ask(PROMPT)
            await judge.ask(PROMPT)
    assert "seed" in server.bodies[-1]


async def test_a_server_that_rejects_everything_is_asked_a_bounded_number_of_times() -> None:
    with (
        OpenAIServer(answer=lambda body: fails(400, "not " + " ".join(body))) as server,
        pytest.raises(UpstreamError, match="refused the request"),
    ):
        await ask(server)
    assert len(server.requests) <= 7


async def test_calls_at_once_learn_what_the_server_takes_from_each_other() -> None:
    """Each of them is refused something first, and what they learn is joined."""

    def bad(body: dict[str, Any]) -> str | None:
        named = [name for name in ("seed", "temperature") if name in body]
        return None if not named else f"{named[body['messages'][1]['content'] == 'b' and len(named) > 1]} is unknown"

    with OpenAIServer(answer=takes(bad)) as server:
        async with asked_at(server.url) as judge:
            async with anyio.create_task_group() as tasks:
                for user in "abababab":
                    tasks.start_soon(judge.ask, JudgePrompt("s", user, SCHEMA))
            before = len(server.requests)
            await judge.ask(PROMPT)
    assert len(server.requests) == before + 1
    assert before <= 24


STEPS = st.builds(
    Dialect, form=st.integers(0, 3), limit=st.integers(0, 1), temperature=st.integers(0, 1), seed=st.integers(0, 1)
)


@given(STEPS, STEPS, STEPS)
def test_what_is_learnt_does_not_depend_on_the_order(a: Dialect, b: Dialect, c: Dialect) -> None:
    assert a.joined(b) == b.joined(a)
    assert a.joined(b).joined(c) == a.joined(b.joined(c))
    assert a.joined(a) == a


@given(st.lists(st.text(max_size=40) | st.sampled_from(["seed", "temperature", "response_format", "max_tokens"])))
def test_stepping_down_ends_and_never_drops_the_limit(complaints: list[str]) -> None:
    dialect, steps = Dialect(), 0
    for complaint in complaints:
        below = dialect.below(complaint)
        if below is not None:
            assert below != dialect
            dialect, steps = below, steps + 1
        body = dialect.body("m", JudgeSettings(), PROMPT)
        assert {"max_tokens", "max_completion_tokens"} & set(body)
    assert steps <= 6


@pytest.mark.parametrize(
    ("step", "why", "text"),
    [
        (refuses("I will not"), "refused: I will not", ""),
        (filtered(), "content filter", ""),
        (cut('{"met": tr'), "cut off", '{"met": tr'),
        (says(""), "empty", ""),
        (says(" \n"), "empty", " \n"),
        (says(None), "empty", ""),
    ],
)
async def test_what_is_no_answer_says_why_and_what_it_cost(step: Step, why: str, text: str) -> None:
    with OpenAIServer(step) as server:
        reply = await ask(server)
    assert why in (reply.refused or "")
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (text, 12, 7)


@pytest.mark.parametrize("body", ['{"choices": []}', '{"choices": null, "usage": null}', "{}"])
async def test_no_choices_are_a_refusal(body: str) -> None:
    with OpenAIServer(raw(body)) as server:
        assert await ask(server) == JudgeReply("", -1, -1, "the reply has no choices")


@pytest.mark.parametrize(
    "usage",
    [
        None,
        3,
        [],
        {},
        {"prompt_tokens": -5, "completion_tokens": True},
        {"prompt_tokens": 1e30},
        {"prompt_tokens": "9"},
    ],
)
async def test_usage_that_is_none_is_unknown(usage: Any) -> None:
    body = {"choices": [{"message": {"content": "{}"}}], "usage": usage}
    with OpenAIServer(raw(json.dumps(body))) as server:
        assert await ask(server) == JudgeReply("{}", -1, -1)


async def test_faults_of_the_server_are_retried_and_its_wait_is_kept() -> None:
    with OpenAIServer(fails(500), limited(0.3), says("{}")) as server:
        began = time.monotonic()
        reply = await ask(server, JudgeSettings(retries=2))
    assert reply.text == "{}"
    assert len(server.requests) == 3
    assert time.monotonic() - began >= 0.3


async def test_retries_end() -> None:
    with OpenAIServer(fails(503, "down")) as server, pytest.raises(UpstreamError, match=r"failed \(HTTP 503: down\)"):
        await ask(server, JudgeSettings(retries=1))
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("step", "message", "remedy"),
    [
        (fails(401, "bad key"), "refused the key", "FUMEHOOD_JUDGE_API_KEY"),
        (fails(403, "not yours"), "refused the key", "FUMEHOOD_JUDGE_API_KEY"),
        (fails(404, "model m-1 not found"), "no such model", "model's name"),
        (limited(0), "takes no more calls", "concurrency"),
        (fails(500, "oops"), "failed", "log"),
        (raw("<html>hello</html>", content_type="text/html"), "no chat completion", "/v1"),
        (raw('{"choices": ['), "no chat completion", "/v1"),
        (raw("[]"), "no chat completion", "/v1"),
        (raw(b"\xff\xfe\x00"), "no chat completion", "/v1"),
        (raw(""), "no chat completion", "/v1"),
        (raw("[" * 200_000), "no chat completion", "/v1"),
        (raw('{"usage": ' + "[" * 200_000), "no chat completion", "/v1"),
        (raw('{"choices": [{"message": {"content": 5}}]}'), "no chat completion", "/v1"),
        (raw('{"choices": [{"message": {"content": {"met": true}}}]}'), "no chat completion", "/v1"),
        (raw('{"choices": {"0": "x"}}'), "no chat completion", "/v1"),
        (raw('{"choices": [{"message": "met"}]}'), "no chat completion", "/v1"),
        (raw('{"choices": [{"message": {"content": "{}"}, "finish_reason": 7}]}'), "no chat completion", "/v1"),
        (raw('{"error": {"message": "provider down"}}'), "an error: provider down", "log"),
        (raw("[" * 200_000, 500), "failed", "log"),
        (raw("", 204), "no chat completion", "/v1"),
        (floods(9), "more than 8388608 bytes", "another server"),
        (floods(9, 500), "more than 8388608 bytes", "another server"),
        (raw(gzip.compress(b" " * 50_000_000), content_encoding="gzip"), "compressed", "another server"),
        (raw("x", 429, retry_after="1e400"), "takes no more calls", "concurrency"),
        (raw("x", 429, retry_after="Fri, 99 Foo 99999999 99:99:99 GMT"), "takes no more calls", "concurrency"),
        (raw("not http", x_should_retry="true"), "no chat completion", "/v1"),
    ],
)
async def test_a_bad_server_is_an_upstream_error_with_a_remedy(step: Step, message: str, remedy: str) -> None:
    with OpenAIServer(step) as server, pytest.raises(UpstreamError) as caught:
        await ask(server)
    assert message in caught.value.message
    assert f"the judge m-1 at {server.url} " in caught.value.message
    assert remedy in caught.value.remedy
    assert caught.value.__cause__ is not None or "an error:" in message
    assert len(caught.value.message) < 500


async def test_a_flood_is_not_asked_for_again() -> None:
    with OpenAIServer(floods(9)) as server, pytest.raises(UpstreamError):
        await ask(server, JudgeSettings(retries=3))
    assert len(server.requests) == 1


@pytest.mark.parametrize("step", [hangs(), drips(b" " * 1000, 0.05)])
async def test_a_server_that_is_slow_for_ever_is_left_at_the_deadline(step: Step) -> None:
    """The drip sends a byte long before each read would time out."""
    began = time.monotonic()
    with OpenAIServer(step) as server, anyio.fail_after(20), pytest.raises(UpstreamError, match="no reply in time"):
        await ask(server, JudgeSettings(retries=0, timeout_ms=400))
    assert 0.3 < time.monotonic() - began < 6
    assert len(server.requests) == 1


async def test_the_key_follows_no_redirect() -> None:
    with (
        OpenAIServer(says("{}")) as elsewhere,
        OpenAIServer(redirects(f"{elsewhere.url}/chat/completions")) as server,
        pytest.raises(UpstreamError, match="redirects, and the key is not sent on"),
    ):
        await ask(server)
    assert elsewhere.requests == []


@pytest.mark.parametrize("status", [400, 401, 404, 422, 429, 500, 302])
async def test_a_server_that_echoes_the_key_cannot_make_us_say_it(status: int) -> None:
    with OpenAIServer(echoes(status)) as server, pytest.raises(UpstreamError) as caught:
        await ask(server)
    shown = "".join(traceback.format_exception(caught.value))
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "bad request with headers" in shown
    assert KEY not in shown
    assert KEY not in repr(caught.value)


async def test_a_key_where_the_words_are_cut_leaves_no_half() -> None:
    def step(request: Request) -> Step:
        return fails(500, "x" * 290 + request.headers["authorization"])

    with OpenAIServer(step) as server, pytest.raises(UpstreamError) as caught:
        await ask(server)
    assert KEY[:8] not in caught.value.message


async def test_a_refusal_that_holds_the_key_is_said_without_it() -> None:
    with OpenAIServer(refuses(f"your key {KEY}")) as server:
        reply = await ask(server)
    assert reply.refused == "refused: your key [key]"


async def test_words_of_a_server_cannot_drive_the_terminal() -> None:
    with OpenAIServer(fails(500, "\x1b[2Jall\r\nfine\u202e")) as server, pytest.raises(UpstreamError) as caught:
        await ask(server)
    assert "[2Jall fine" in caught.value.message
    assert caught.value.message.isprintable()


async def test_a_port_nobody_listens_on_is_said() -> None:
    with OpenAIServer(says("{}")) as server:
        url = server.url
    with pytest.raises(UpstreamError, match="cannot be reached") as caught:
        async with asked_at(url) as judge:
            await judge.ask(PROMPT)
    assert "that the server runs" in caught.value.remedy


async def test_cancelling_a_call_is_no_error_of_the_server() -> None:
    with OpenAIServer(hangs()) as server:
        async with asked_at(server.url) as judge:
            with anyio.move_on_after(0.3) as scope:
                await judge.ask(PROMPT)
    assert scope.cancelled_caught


@pytest.mark.parametrize(
    "url", ["localhost:8080/v1", "ftp://h/v1", "http://", "http://[", "http://u:secret-word@h/v1", "http://h:99999999/"]
)
def test_a_url_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(UsageError, match="judge's URL") as caught:
        OpenAIJudge(JudgeRef("m", url), ONCE, KEY)
    assert "secret-word" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a b", "sk-\nx", "sk-ü", "sk-\x00"])
def test_a_key_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(UsageError, match="API key") as caught:
        OpenAIJudge(JudgeRef("m", "http://h/v1"), ONCE, key)
    assert key not in str(caught.value)


def test_the_page_on_judges_tells_every_setting_and_its_default() -> None:
    page = (Path(__file__).parents[3] / "docs" / "judge.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", page, re.MULTILINE))
    assert told == {
        name: "none" if value is None else f"{value:g}"
        for name, value in msgspec.structs.asdict(JudgeSettings()).items()
    }


async def test_what_the_environment_says_of_an_account_with_openai_goes_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-mine")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-of-mine")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: of-mine")
    with OpenAIServer(says("yes")) as server:
        async with asked_at(server.url) as judge:
            await judge.ask(PROMPT)
    assert "of-mine" not in str(dict(server.requests[0].headers))
