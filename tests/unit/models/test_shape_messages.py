"""Anthropic Messages as the real client speaks it: what a source is asked, and what comes back, whole and streamed."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from harness.domain.pack import ModelTurn, ReplyError, ScriptedCall
from tests.unit.models.clients import CALLS, anthropic_client, saying, scripted, tool_call

TOOL: Any = {
    "name": "look",
    "description": "Looks.",
    "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    "cache_control": {"type": "ephemeral"},
}
HI: Any = [{"role": "user", "content": "Hi"}]


def test_text_goes_in_and_comes_out() -> None:
    gateway, source = saying(content="Hello there.")
    answer = anthropic_client(gateway).messages.create(
        model="m",
        max_tokens=50,
        messages=HI,
        system=[{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        stop_sequences=["END"],
        extra_body={"temperature": 0.5},
        metadata={"user_id": "u"},
    )
    (block,) = answer.content
    assert block.type == "text"
    assert (block.text, answer.stop_reason, answer.model) == ("Hello there.", "end_turn", "m")
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens, answer.usage.output_tokens) == (8, 3, 5)
    (asked,) = source.requests
    assert asked == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 50,
        "stop": ["END"],
        "temperature": 0.5,
        "stream": False,
    }


def test_a_conversation_with_parallel_calls_their_results_and_thoughts_is_a_chat() -> None:
    gateway, source = saying(content="done")
    messages: Any = [
        {"role": "user", "content": "look twice"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I will."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"q": "a"}},
                {"type": "tool_use", "id": "c2", "name": "look", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}]},
                {"type": "tool_result", "tool_use_id": "c2", "content": "broken", "is_error": True},
                {"type": "text", "text": "And now?"},
            ],
        },
    ]
    anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=messages, tools=[TOOL])
    (asked,) = source.requests
    assert asked["messages"] == [
        {"role": "user", "content": "look twice"},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [tool_call("c1", "look", '{"q":"a"}'), tool_call("c2", "look", "{}")],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: broken"},
        {"role": "user", "content": "And now?"},
    ]
    function = {"name": "look", "description": "Looks.", "parameters": TOOL["input_schema"]}
    assert asked["tools"] == [{"type": "function", "function": function}]


@pytest.mark.parametrize(
    ("given", "asked", "parallel"),
    [
        ({"type": "auto"}, "auto", None),
        ({"type": "any", "disable_parallel_tool_use": True}, "required", False),
        ({"type": "none"}, "none", None),
        ({"type": "tool", "name": "look"}, {"type": "function", "function": {"name": "look"}}, None),
    ],
)
def test_the_choice_of_a_tool_is_kept(given: Any, asked: Any, parallel: bool | None) -> None:
    gateway, source = saying(content="x")
    anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=HI, tools=[TOOL], tool_choice=given)
    assert source.requests[0]["tool_choice"] == asked
    assert source.requests[0].get("parallel_tool_calls") is parallel


@pytest.mark.parametrize(
    ("finish", "message", "reason"),
    [
        ("stop", {"content": "Hello."}, "end_turn"),
        ("stop", {"content": ""}, "end_turn"),
        ("stop", {"content": None, "refusal": "No."}, "refusal"),
        ("length", {"content": "Hel"}, "max_tokens"),
        ("content_filter", {"content": ""}, "refusal"),
        ("tool_calls", {"content": "Looking.", "tool_calls": CALLS}, "tool_use"),
        ("tool_calls", {"tool_calls": CALLS}, "tool_use"),
    ],
)
def test_a_stream_comes_to_what_the_whole_answer_is(finish: str, message: dict[str, Any], reason: str) -> None:
    gateway, _ = saying(finish, **message)
    client = anthropic_client(gateway)
    whole = client.messages.create(model="m", max_tokens=9, messages=HI, tools=[TOOL])
    assert whole.stop_reason == reason
    with client.messages.stream(model="m", max_tokens=9, messages=HI, tools=[TOOL]) as stream:
        said = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert final.to_dict() == whole.to_dict()
    assert said == "".join(block.text for block in whole.content if block.type == "text")
    uses = [(block.id, block.name, block.input) for block in final.content if block.type == "tool_use"]
    assert uses == ([("c1", "look", {"q": "a"}), ("c2", "look", {"q": "é\n"})] if "tool_calls" in message else [])


def test_what_came_back_can_be_sent_again() -> None:
    gateway, source = saying("tool_calls", content="Looking.", tool_calls=CALLS)
    client = anthropic_client(gateway)
    first = client.messages.create(model="m", max_tokens=9, messages=HI, tools=[TOOL])
    results: Any = [{"type": "tool_result", "tool_use_id": use, "content": "x"} for use in ("c1", "c2")]
    again: Any = [*HI, {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
    client.messages.create(model="m", max_tokens=9, messages=again, tools=[TOOL])
    assert source.requests[1]["messages"][1] == {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [CALLS[0], tool_call("c2", "look", '{"q":"é\\n"}')],
    }


def test_structured_output_is_asked_for() -> None:
    gateway, source = saying(content="{}")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    config: Any = {"format": {"type": "json_schema", "schema": schema}, "effort": "low"}
    anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=HI, output_config=config)
    form = {"name": "output", "strict": True, "schema": schema}
    assert source.requests[0]["response_format"] == {"type": "json_schema", "json_schema": form}
    assert source.requests[0]["reasoning_effort"] == "low"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "bash_20250124", "name": "bash"}]}, "bash"),
        ({"extra_body": {"mcp_servers": [{"url": "http://x"}]}}, "mcp_servers"),
        ({"extra_body": {"invented": 1}}, "invented"),
        ({"messages": [*HI, {"role": "assistant", "content": "The answer is ("}]}, "continues"),
        (
            {
                "messages": [
                    {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "http://x"}}]}
                ]
            },
            "data:",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": "url", "url": "h"}}]}]},
            "document",
        ),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "c",
                                "content": [
                                    {
                                        "type": "image",
                                        "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
                                    }
                                ],
                            }
                        ],
                    }
                ]
            },
            "only hold text",
        ),
        ({"extra_body": {"max_tokens": "many"}}, "max_tokens"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name_and_asked_of_nobody(change: dict[str, Any], said: str) -> None:
    gateway, source = saying(content="x")
    with pytest.raises(anthropic.BadRequestError, match=said) as caught:
        anthropic_client(gateway).messages.create(**{"model": "m", "max_tokens": 9, "messages": HI, **change})
    body: Any = caught.value.body
    assert (body["type"], body["error"]["type"]) == ("error", "invalid_request_error")
    assert source.requests == []


def test_images_and_texts_with_their_data_are_passed_on() -> None:
    gateway, source = saying(content="a cat")
    content: Any = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A text."}},
    ]
    anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": content}])
    assert source.requests[0]["messages"][0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "text", "text": "A text."},
    ]


@pytest.mark.parametrize("arguments", ["[1]", "{", "nothing", '"x"'])
def test_arguments_that_are_no_object_are_a_failure_not_an_empty_call(arguments: str) -> None:
    gateway, _ = saying("tool_calls", tool_calls=[tool_call("c", "look", arguments)])
    with pytest.raises(anthropic.InternalServerError, match="look with arguments that are no JSON object"):
        anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=HI, tools=[TOOL])
    (answer,) = gateway.answers
    assert (answer.status, answer.input_tokens, answer.cost_usd) == (502, 11, 0.25)


def test_scripted_turns_answer_it_and_their_errors_are_the_apis() -> None:
    turns = (
        ModelTurn("one"),
        ModelTurn(tool_calls=[ScriptedCall("look", {"q": "x"})]),
        ModelTurn(error=ReplyError("429")),
    )
    client = anthropic_client(scripted(*turns))
    first = client.messages.create(model="m", max_tokens=9, messages=HI)
    assert [block.type for block in first.content] == ["text"]
    with client.messages.stream(model="m", max_tokens=9, messages=HI, tools=[TOOL]) as stream:
        (use,) = stream.get_final_message().content
    assert use.type == "tool_use"
    assert use.input == {"q": "x"}
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="m", max_tokens=9, messages=HI)
