"""What holds of every answer in every shape: nothing is lost on the way there, streamed or whole, and back again."""

from __future__ import annotations

import json
from typing import Any

import anthropic.types
import openai.types.chat
import openai.types.responses
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.lib.streaming.chat import ChatCompletionStreamState

from harness.models.shapes.read import read
from harness.models.shapes.shape import compact
from tests.unit.models.clients import anthropic_client, openai_client, saying, tool_call

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_]{0,10}\Z")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3).map(compact)
CALLS = st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3).map(
    lambda calls: [tool_call(f"c{index}", name, arguments) for index, (name, arguments) in enumerate(calls)]
)


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """What an assistant may say: text, calls, or both; an empty text is none."""
    calls = draw(CALLS)
    text = draw(TEXTS.filter(bool) if not calls else TEXTS.map(lambda text: text or None))
    return {"content": text, **({"tool_calls": calls} if calls else {})}


def finish(message: dict[str, Any]) -> str:
    return "tool_calls" if "tool_calls" in message else "stop"


def completion(message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish(message), "message": {"role": "assistant", **message}}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": {}}


@given(messages())
def test_an_answer_in_responses_sent_back_is_what_the_model_said(message: dict[str, Any]) -> None:
    answer = read({"api": "responses", "input": "Hi"}).response(completion(message))
    openai.types.responses.Response.model_validate(answer)
    again = read({"api": "responses", "input": [{"role": "user", "content": "Hi"}, *answer["output"]]})
    assert again.body["messages"][1:] == [{"role": "assistant", **message}]


@given(messages())
def test_an_answer_in_messages_sent_back_is_what_the_model_said(message: dict[str, Any]) -> None:
    hello = {"role": "user", "content": "Hi"}
    answer = read({"api": "messages", "max_tokens": 9, "messages": [hello]}).response(completion(message))
    anthropic.types.Message.model_validate(answer)
    turns = [hello, {"role": "assistant", "content": answer["content"]}, hello]
    again = read({"api": "messages", "max_tokens": 9, "messages": turns}).body["messages"][1]
    assert again["content"] == message["content"]
    assert [json.loads(call["function"]["arguments"]) for call in again.get("tool_calls", ())] == [
        json.loads(call["function"]["arguments"]) for call in message.get("tool_calls", ())
    ]


def dumped(item: Any) -> Any:
    """An item without what the client itself parsed out of it."""
    return json.loads(
        json.dumps(item.to_dict()), object_hook=lambda d: {k: v for k, v in d.items() if "parsed" not in k}
    )


@settings(max_examples=30)
@given(messages())
def test_the_clients_read_the_same_from_a_stream_as_from_the_whole(message: dict[str, Any]) -> None:
    gateway, _ = saying(finish(message), **message)
    whole = openai_client(gateway).responses.create(model="m", input="Hi")
    with openai_client(gateway).responses.stream(model="m", input="Hi") as stream:
        assert stream.get_final_response().output_text == whole.output_text
        final = stream.get_final_response()
    assert [dumped(item) for item in final.output] == [dumped(item) for item in whole.output]
    hello: Any = [{"role": "user", "content": "Hi"}]
    said = anthropic_client(gateway).messages.create(model="m", max_tokens=9, messages=hello)
    with anthropic_client(gateway).messages.stream(model="m", max_tokens=9, messages=hello) as events:
        assert events.get_final_message().to_dict() == said.to_dict()


@settings(max_examples=50)
@given(messages())
def test_chunks_made_of_a_completion_come_to_it_again(message: dict[str, Any]) -> None:
    gateway, _ = saying(finish(message), **message)
    state = ChatCompletionStreamState()
    ask: Any = [{"role": "user", "content": "Hi"}]
    options: Any = {"include_usage": True}
    for chunk in openai_client(gateway).chat.completions.create(
        model="m", messages=ask, stream=True, stream_options=options
    ):
        state.handle_chunk(chunk)
    snapshot = state.current_completion_snapshot
    choice = snapshot.choices[0]
    assert (choice.message.content or None, choice.finish_reason) == (message["content"], finish(message))
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or ()]  # type: ignore[union-attr]
    given = message.get("tool_calls", ())
    assert calls == [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in given]
    assert snapshot.usage is not None
    assert snapshot.usage.total_tokens == 16


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "text",
                    "model",
                    "input",
                    "messages",
                    "tools",
                    "name",
                    "max_tokens",
                    "source",
                    "call_id",
                    "output",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)
BODIES = st.dictionaries(
    st.sampled_from(
        [
            "model",
            "input",
            "messages",
            "max_tokens",
            "tools",
            "system",
            "instructions",
            "tool_choice",
            "text",
            "reasoning",
            "output_config",
            "stream",
            "stop_sequences",
        ]
    ),
    JSON,
    max_size=6,
)


@settings(max_examples=300)
@given(st.sampled_from(["chat", "responses", "messages", "embeddings", "models", "other", 3, None]), BODIES)
def test_whatever_an_agent_sends_is_taken_or_refused_in_words(api: Any, body: dict[str, Any]) -> None:
    try:
        shape = read({"api": api, **body})
    except ValueError:
        return
    assert isinstance(shape.body, dict)
