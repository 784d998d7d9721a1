"""What of an agent's request may leave the machine: known fields only, and nothing an upstream would fetch or run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.domain.canonical import canonical

NEUTRAL = frozenset(
    {
        "metadata", "prediction", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
        "safety_identifier", "service_tier", "store", "stream", "stream_options", "user",
    }
)  # fmt: skip
"""Fields that say nothing of what is to be answered: of an account, a cache, a display. They are not passed on."""
_PASSED = frozenset(
    {
        "chat_template_kwargs", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens", "max_tokens", "messages", "min_p", "model", "n", "parallel_tool_calls",
        "presence_penalty", "reasoning_effort", "repeat_penalty", "repetition_penalty", "response_format", "seed",
        "stop", "temperature", "tool_choice", "tools", "top_k", "top_logprobs", "top_p", "verbosity",
    }
)  # fmt: skip
LIMITS = ("max_tokens", "max_completion_tokens")
_BYTES_PER_TOKEN = 4
_IMAGE_TOKENS = 1500


def outgoing(request: Mapping[str, Any]) -> dict[str, Any]:
    """The chat body to send. ValueError for what is not passed on and would change the answer."""
    body = {name: value for name, value in request.items() if name not in NEUTRAL and value is not None}
    if unknown := sorted(set(body) - _PASSED):
        raise ValueError(f"`{unknown[0][:80]}` is not passed on to a model")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list of at least one message")
    for part in _parts(messages):
        _check_part(part)
    tools = body.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, Mapping) or tool.get("type") not in ("function", "custom"):
            raise ValueError("`tools`: only function and custom tools are passed on; others would run elsewhere")
    return body


def _parts(messages: list[Any]) -> Iterator[Mapping[str, Any]]:
    for message in messages:
        if not isinstance(message, Mapping):
            raise ValueError("`messages` must hold objects")
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if not isinstance(part, Mapping):
                raise ValueError("the parts of a message's content must be objects")
            yield part


def _check_part(part: Mapping[str, Any]) -> None:
    kind = part.get("type")
    inner = part.get(kind) if isinstance(kind, str) else None
    held = inner if isinstance(inner, Mapping) else {}
    if kind == "image_url":
        if not str(held.get("url", "")).startswith("data:"):
            raise ValueError("images are passed on as data: URLs only: an agent has no network, nor an upstream for it")
    elif kind == "file":
        if "file_data" not in held or set(held) - {"file_data", "filename"}:
            raise ValueError("files are passed on with their `file_data` only")
    elif kind not in ("text", "refusal", "input_audio"):
        raise ValueError(f"a part of type {str(kind)[:40]!r} is not passed on")


def asked_tokens(request: Mapping[str, Any]) -> int | None:
    """The most tokens a request of any shape lets be answered; None: it does not say."""
    if request.get("api") in ("embeddings", "models"):
        return 0
    given = [request.get(name) for name in (*LIMITS, "max_output_tokens")]
    most = next((limit for limit in given if type(limit) is int and limit > 0), None)
    times = request.get("n")
    return most if most is None else most * (times if type(times) is int and times > 1 else 1)


def sent_tokens(value: Any) -> int:
    """About how many tokens a JSON value takes: one per four bytes of it, an image 1500. A guess, not a count."""
    images, text = _without_images(value)
    size = len(canonical(text).encode("utf-8", "surrogatepass"))
    return -(-size // _BYTES_PER_TOKEN) + images * _IMAGE_TOKENS


def _without_images(value: Any) -> tuple[int, Any]:
    if isinstance(value, str):
        return (1, "") if value.startswith("data:") else (0, value)
    if isinstance(value, Mapping):
        found = {key: _without_images(item) for key, item in value.items()}
        return sum(count for count, _ in found.values()), {key: item for key, (_, item) in found.items()}
    if isinstance(value, list):
        parts = [_without_images(item) for item in value]
        return sum(count for count, _ in parts), [item for _, item in parts]
    return 0, value
