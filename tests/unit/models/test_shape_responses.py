"""OpenAI Responses as the real client speaks it: what a source is asked, and what comes back, whole and streamed."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from pydantic import BaseModel

from harness.domain.pack import ModelTurn, ReplyError, ScriptedCall
from tests.unit.models.clients import CALLS, openai_client, saying, scripted, tool_call

TOOL: Any = {
    "type": "function",
    "name": "look",
    "description": "Looks.",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    "strict": True,
}


def test_text_goes_in_and_comes_out() -> None:
    gateway, source = saying(content="Hello there.")
    answer = openai_client(gateway).responses.create(
        model="m", input="Hi", instructions="Be brief.", max_output_tokens=50, temperature=0.5, top_p=0.9, user="u"
    )
    assert answer.output_text == "Hello there."
    assert (answer.status, answer.model, answer.instructions) == ("completed", "m", "Be brief.")
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens) == (11, 5, 16)
    assert answer.usage.input_tokens_details.cached_tokens == 3
    (asked,) = source.requests
    assert asked == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "max_tokens": 50,
        "temperature": 0.5,
        "top_p": 0.9,
        "stream": False,
    }


def test_a_conversation_with_parallel_calls_their_results_and_thoughts_is_a_chat() -> None:
    gateway, source = saying(content="done")
    items: Any = [
        {"role": "developer", "content": "Rules."},
        {"role": "user", "content": [{"type": "input_text", "text": "look"}, {"type": "input_text", "text": "twice"}]},
        {"type": "reasoning", "id": "r", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I will."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"q":"a"}'},
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "one"}]},
    ]
    openai_client(gateway).responses.create(model="m", input=items, tools=[TOOL], parallel_tool_calls=True)
    (asked,) = source.requests
    assert asked["messages"] == [
        {"role": "system", "content": "Rules."},
        {"role": "user", "content": "look\ntwice"},
        {
            "role": "assistant",
            "content": "I will.",
            "tool_calls": [tool_call("c1", "look", '{"q":"a"}'), tool_call("c2", "look", "{}")],
        },
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
    ]
    function = {key: value for key, value in TOOL.items() if key != "type"}
    assert asked["tools"] == [{"type": "function", "function": function}]
    assert asked["parallel_tool_calls"] is True


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("required", "required"),
        ("none", "none"),
        ({"type": "function", "name": "look"}, {"type": "function", "function": {"name": "look"}}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "look"}]},
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "look"}}]},
            },
        ),
    ],
)
def test_the_choice_of_a_tool_is_kept(given: Any, asked: Any) -> None:
    gateway, source = saying(content="x")
    openai_client(gateway).responses.create(model="m", input="Hi", tools=[TOOL], tool_choice=given)
    assert source.requests[0]["tool_choice"] == asked


def test_tool_calls_come_back_as_items_that_can_be_sent_again() -> None:
    gateway, source = saying("tool_calls", tool_calls=CALLS)
    client = openai_client(gateway)
    first = client.responses.create(model="m", input="Hi", tools=[TOOL])
    calls = [item for item in first.output if item.type == "function_call"]
    assert [(call.call_id, call.name, call.arguments) for call in calls] == [
        ("c1", "look", '{"q":"a"}'),
        ("c2", "look", '{"q":"é\\n"}'),
    ]
    again: Any = [{"role": "user", "content": "Hi"}, *(item.model_dump(exclude_none=True) for item in first.output)]
    client.responses.create(model="m", input=again, tools=[TOOL])
    assert source.requests[1]["messages"][1]["tool_calls"] == CALLS


def space(name: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "namespace", "name": name, "tools": list(tools), **more}


def test_tools_in_namespaces_are_told_apart_and_called_by_their_own_names() -> None:
    calls = [tool_call("c1", "crm__look", "{}"), tool_call("c2", "find", "{}"), tool_call("c3", "look", "{}")]
    gateway, source = saying("tool_calls", tool_calls=calls)
    client = openai_client(gateway)
    find = {"type": "function", "name": "find", "description": "Finds", "parameters": {}}
    tools: Any = [TOOL, space("crm", {**TOOL, "description": None}, find, description="Customers"), space("none")]
    asked: Any = {"model": "m", "tools": tools, "tool_choice": {"type": "function", "namespace": "crm", "name": "look"}}
    with client.responses.stream(input="Hi", **asked) as stream:
        first = stream.get_final_response()
    named = [(item.namespace, item.name) for item in first.output if item.type == "function_call"]
    assert named == [("crm", "look"), ("crm", "find"), (None, "look")]
    told = [(tool["function"]["name"], tool["function"].get("description")) for tool in source.requests[0]["tools"]]
    assert told == [("look", TOOL["description"]), ("crm__look", "Customers"), ("find", "Customers\nFinds")]
    assert source.requests[0]["tool_choice"] == {"type": "function", "function": {"name": "crm__look"}}
    again: Any = [{"role": "user", "content": "Hi"}, *(item.model_dump(exclude_none=True) for item in first.output)]
    client.responses.create(input=again, **asked)
    assert source.requests[1]["messages"][1]["tool_calls"] == calls


def test_custom_tools_keep_their_grammar_and_their_text() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    gateway, source = saying("tool_calls", tool_calls=[call])
    grammar = {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}
    tool: Any = {"type": "custom", "name": "patch", "format": grammar}
    with openai_client(gateway).responses.stream(model="m", input="Hi", tools=[tool]) as stream:
        (item,) = stream.get_final_response().output
    assert item.type == "custom_tool_call"
    assert (item.name, item.input, item.call_id) == ("patch", "*** Begin", "c1")
    form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x/"}}
    assert source.requests[0]["tools"] == [{"type": "custom", "custom": {"name": "patch", "format": form}}]


class Verdict(BaseModel):
    met: bool


def test_structured_output_is_asked_for_and_read() -> None:
    gateway, source = saying(content='{"met": true}')
    parsed = openai_client(gateway).responses.parse(model="m", input="Hi", text_format=Verdict)
    assert parsed.output_parsed == Verdict(met=True)
    form = source.requests[0]["response_format"]
    assert (form["type"], form["json_schema"]["name"], form["json_schema"]["strict"]) == (
        "json_schema",
        "Verdict",
        True,
    )
    assert form["json_schema"]["schema"]["properties"]["met"]["type"] == "boolean"


@pytest.mark.parametrize(
    ("finish", "message"),
    [
        ("stop", {"content": "Hello."}),
        ("stop", {"content": ""}),
        ("stop", {"content": None, "refusal": "No."}),
        ("length", {"content": "Hel"}),
        ("content_filter", {"content": ""}),
        ("tool_calls", {"content": "Looking.", "tool_calls": CALLS}),
        ("tool_calls", {"tool_calls": CALLS}),
    ],
)
def test_a_stream_comes_to_what_the_whole_answer_is(finish: str, message: dict[str, Any]) -> None:
    gateway, _ = saying(finish, **message)
    client = openai_client(gateway)
    whole = client.responses.create(model="m", input="Hi", tools=[TOOL])
    events = list(client.responses.create(model="m", input="Hi", tools=[TOOL], stream=True))
    last: Any = events[-1]
    assert last.response.to_dict() == whole.to_dict()
    assert [event.sequence_number for event in events] == list(range(len(events)))
    with client.responses.stream(model="m", input="Hi", tools=[TOOL]) as stream:
        pieces = list(stream)
        if finish in ("stop", "tool_calls"):
            assert stream.get_final_response().output_text == whole.output_text
    text = "".join(piece.delta for piece in pieces if piece.type == "response.output_text.delta")
    assert text == whole.output_text
    typed = [piece.delta for piece in pieces if piece.type == "response.function_call_arguments.delta"]
    assert typed == [call["function"]["arguments"] for call in message.get("tool_calls", ())]


def test_a_cut_answer_is_incomplete_and_says_why() -> None:
    gateway, _ = saying("length", content="Hel")
    answer = openai_client(gateway).responses.create(model="m", input="Hi")
    assert answer.status == "incomplete"
    assert answer.incomplete_details is not None
    assert answer.incomplete_details.reason == "max_output_tokens"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": "c"}, "conversation"),
        ({"background": True}, "background"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "mcp", "server_label": "x", "server_url": "http://x"}]}, "mcp"),
        ({"tools": [space("a", {"type": "web_search", "name": "x"})]}, "web_search"),
        ({"tools": [space("a", {"type": "function", "name": "x", "description": 5})]}, "description"),
        ({"tools": [space("a", {**TOOL}, {**TOOL})]}, "a__look"),
        ({"tools": [space("a", {**TOOL}), {**TOOL}, {**TOOL, "name": "a__look"}]}, "a__look"),
        ({"include": ["message.output_text.logprobs"]}, "include"),
        ({"extra_body": {"invented": 1}}, "invented"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]"),
        ({"input": [{"type": "computer_call", "id": "x"}]}, "computer_call"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "http://x/y"}]}]}, "data: URLs"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input_image"),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_url": "http://x"}]}]}, "input_file"),
        ({"input": [{"role": "robot", "content": "x"}]}, "robot"),
        ({"temperature": "warm"}, "temperature"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name_and_asked_of_nobody(change: dict[str, Any], said: str) -> None:
    gateway, source = saying(content="x")
    with pytest.raises(openai.BadRequestError, match=said.replace("[", r"\[").replace("]", r"\]")):
        openai_client(gateway).responses.create(**{"model": "m", "input": "Hi", **change})
    assert source.requests == []


def test_an_image_with_its_data_is_passed_on() -> None:
    gateway, source = saying(content="a cat")
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"}
    items: Any = [{"role": "user", "content": [{"type": "input_text", "text": "What?"}, image]}]
    openai_client(gateway).responses.create(model="m", input=items)
    assert source.requests[0]["messages"][0]["content"] == [
        {"type": "text", "text": "What?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
    ]


def test_scripted_turns_answer_it_and_their_errors_are_the_apis() -> None:
    gateway = scripted(
        ModelTurn("one"),
        ModelTurn(tool_calls=[ScriptedCall("look", {"q": "x"})]),
        ModelTurn(error=ReplyError("rate_limited")),
    )
    client = openai_client(gateway)
    assert client.responses.create(model="m", input="Hi").output_text == "one"
    (call,) = client.responses.create(model="m", input="Hi", tools=[TOOL]).output
    assert call.type == "function_call"
    with pytest.raises(openai.RateLimitError):
        client.responses.create(model="m", input="Hi")
