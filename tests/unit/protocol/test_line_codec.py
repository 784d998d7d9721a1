"""decode_agent, decode_harness, encode: round trips, and that hostile bytes give LineError and nothing else."""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from protocol import MAX_DEPTH
from protocol import messages as m
from protocol.codec import LineError, decode_agent, decode_harness, encode

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
atom = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text
data = st.recursive(
    atom, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12
)
objects = st.dictionaries(text, data, max_size=4)
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
count = st.none() | st.integers(0, 10**30)

agent_messages = st.one_of(
    st.builds(m.Ready, st.lists(text, min_size=1, max_size=4), st.builds(m.AgentInfo, ids, text, st.none() | text)),
    st.builds(m.ToolCall, ids, ids, objects),
    st.builds(m.ModelCall, ids, objects, st.booleans()),
    st.builds(m.Ask, ids, text),
    st.builds(m.State, data),
    st.builds(m.Note, st.sampled_from(["debug", "info", "warning", "error"]), text),
    st.builds(
        m.Trajectory,
        st.sampled_from(["completed", "refused", "failed"]),
        st.builds(m.Output, st.none() | text, data),
        st.lists(st.builds(m.Step, text, st.none() | text, data, data), max_size=3),
        st.none() | st.builds(m.Usage, count, count, st.none() | st.floats(0, 1e300), count),
        st.none() | st.builds(m.AgentError, text, st.none() | text),
    ),
)
harness_messages = st.one_of(
    st.builds(
        m.Invoke,
        protocol=text,
        run_id=text,
        case_id=text,
        trial=st.integers(1, 9),
        input=text | st.lists(st.builds(m.ChatTurn, st.sampled_from(["system", "user", "assistant"]), text)),
        tools=st.lists(st.builds(m.ToolSpec, text, text, objects), max_size=2),
        budget=st.builds(m.BudgetView, max_steps=count),
        limits=st.builds(m.LimitsView, st.integers(1, 1 << 30)),
        context=objects,
        workspace=st.none() | text,
    ),
    st.builds(m.ToolResult, ids, st.sampled_from(["ok", "error", "denied"]), data, st.none() | text),
    st.builds(m.ModelResult, ids, data, st.none() | text),
    st.builds(m.ModelChunk, ids, data, st.booleans()),
    st.builds(m.Answer, ids, text),
    st.builds(m.Cancel, text),
)
FRAGMENTS = [
    *("{", "}", "[", "]", ":", ",", " ", '"', "\\", "\n", "\x00", "é", "🙂", "1", "-", "null"),
    *('"type"', '"note"', '"a"', '"text":""', '{"type":"state","snapshot":', "1e999", "NaN", "-Infinity"),
    *("\\ud83d", "\\udc00", "\\u0061"),
]
jsonish = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map(lambda parts: "".join(parts).encode())


def refusal(line: bytes) -> LineError:
    with pytest.raises(LineError) as caught:
        decode_agent(line)
    return caught.value


@given(agent_messages)
def test_agent_messages_survive_the_wire(message: m.AgentMessage) -> None:
    line = encode(message)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert decode_agent(line[:-1]) == message


@given(harness_messages)
def test_harness_messages_survive_the_wire(message: m.HarnessMessage) -> None:
    assert decode_harness(encode(message)[:-1]) == message


@given(st.binary(max_size=200) | jsonish)
@example(b"\xff")
@example(b"")
@example(b'{"a":1,"a":')
@example(b"1e9991e999")
@example(b'{"a":1,"a":2}}"b":')
def test_no_bytes_raise_anything_but_line_error(line: bytes) -> None:
    for decode in (decode_agent, decode_harness):
        error = None
        try:
            decode(line)
        except LineError as err:
            error = err
        if error:
            assert 0 <= error.offset <= len(line)
            assert error.message.isascii()
            assert error.message.isprintable()
            assert len(error.message) < 300


@given(jsonish)
def test_what_is_taken_is_json_to_another_parser_too(line: bytes) -> None:
    try:
        decode_agent(line)
    except LineError as err:
        if err.code not in ("not_an_object", "unknown_type", "invalid_message"):
            return
    assert isinstance(json.loads(line), dict | list | str | int | float | None)
    msgspec.json.decode(line)


@given(st.lists(st.sampled_from(["[", '{"a":']), min_size=1, max_size=140), st.sampled_from(["", '"[[["', '"\\"[{"']))
def test_depth_is_what_the_brackets_say(opened: list[str], inner: str) -> None:
    closed = "".join("]" if one == "[" else "}" for one in reversed(opened))
    value = ("".join(opened) + (inner or "1") + closed).encode()
    if len(opened) > MAX_DEPTH:
        error = refusal(value)
        assert error.code == "too_deep"
        assert error.offset == len("".join(opened[:MAX_DEPTH]))
    else:
        assert refusal(value).code in ("not_an_object", "unknown_type")


@pytest.mark.parametrize("bomb", [b"[" * 100_000, b'{"a":' * 100_000, b'[{"":' * 50_000, b"[" * (4 << 20)])
def test_depth_bombs_are_refused_before_parsing(bomb: bytes) -> None:
    assert refusal(bomb).code == "too_deep"


def test_many_brackets_side_by_side_are_not_deep() -> None:
    message = decode_agent(b'{"type":"state","snapshot":[' + b'{"a":[]},' * 10_000 + b"[]]}")
    assert isinstance(message, m.State)


def test_brackets_in_text_are_not_depth() -> None:
    assert decode_agent(b'{"type":"note","level":"info","text":"' + b'\\"[{\\\\' * 1000 + b'"}')


@given(objects, st.data())
def test_a_repeated_key_is_found_wherever_it_is(value: dict[str, Any], draw: st.DataObject) -> None:
    if not value:
        value = {"k": 1}
    key = draw.draw(st.sampled_from(sorted(value)))
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 0xD800 else c for c in key)
    good = json.dumps({"type": "state", "snapshot": [{}, value]}, ensure_ascii=False)
    bad = f'{good[:-3]},"{escaped}":0}}]}}'
    assert decode_agent(good.encode())
    error = refusal(bad.encode())
    assert (error.code, error.offset) == ("duplicate_key", len(good[:-3].encode()) + 1)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (b"9" * 4301, "bad_json"),
        (b"9" * 4_000_000, "bad_json"),
        (b"-" + b"9" * 4300, "bad_json"),
        (b"9" * 4_000_000 + b".0", "not_finite"),
        (b"1e" + b"9" * 4_000_000, "not_finite"),
    ],
)
def test_huge_numbers_are_refused_quickly(value: bytes, code: str) -> None:
    start = time.process_time()
    assert refusal(b'{"type":"state","snapshot":' + value + b"}").code == code
    assert time.process_time() - start < 2


def test_a_long_integer_is_refused_whatever_the_interpreters_own_limit() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        assert refusal(b'{"type":"state","snapshot":' + b"9" * 1_000_000 + b"}").code == "bad_json"
    finally:
        sys.set_int_max_str_digits(before)


def test_a_place_far_into_a_long_line_is_given_as_zero() -> None:
    far = b'{"type":"state","snapshot":["' + b"x" * (1 << 19) + b'",'
    for tail, code in [(b'{"a":1,"a":2}]}', "duplicate_key"), (b"NaN]}", "not_finite"), (b"[" * 70, "too_deep")]:
        error = refusal(far + tail)
        assert (error.code, error.offset) == (code, 0)


def test_messages_echo_hostile_bytes_only_short_and_escaped() -> None:
    hostile = "\x1b]52;c;é\u202e" * 5000
    for line in (
        {"type": hostile},
        {"type": "note", "level": hostile, "text": ""},
        {"type": "note", "level": "info", "text": "", hostile: 1},
        [hostile],
    ):
        error = refusal(json.dumps(line, ensure_ascii=False).encode())
        assert error.message.isascii()
        assert error.message.isprintable()
        assert len(error.message) < 250


def test_a_wrong_field_is_named_by_its_path() -> None:
    error = refusal(b'{"type":"ready","protocol":["1.0"],"agent":{"name":3}}')
    assert error.message == "ready: Expected `str`, got `int` at `$.agent.name`"


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, "\ud800", {"\udc00": 1}, [[math.nan]], [10**5000]])
def test_encode_refuses_what_no_peer_may_take(bad: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        encode(m.State(snapshot=bad))


def test_encode_refuses_what_is_too_deep() -> None:
    deep: Any = []
    for _ in range(MAX_DEPTH):
        deep = [deep]
    with pytest.raises(ValueError, match="64 levels"):
        encode(m.State(snapshot=deep))
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nesting"):
        encode(m.State(snapshot=endless))


def test_encode_is_compact_and_keeps_text_as_it_is() -> None:
    line = encode(m.Ask(id="1", content="é🙂\u2028\x00"))
    assert line == '{"type":"ask","id":"1","content":"é🙂\u2028\\u0000"}\n'.encode()
