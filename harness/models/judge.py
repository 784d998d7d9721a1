"""A judge behind an OpenAI-compatible API: one prompt out, one reply in, every failure an error of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from harness.domain.judge import JudgeRef, JudgeSettings
from harness.errors import UpstreamError
from harness.models.client import checked_key, checked_url, complaint_of, open_client, shown, tokens
from harness.models.dialect import Dialect, named_parameter
from harness.models.failures import JUDGE, Failures, said
from harness.ports import JudgePrompt, JudgeReply

if TYPE_CHECKING:
    import openai

_MAX_REPLY_BYTES = 8 * 2**20


class _Message(Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(Struct):
    """The part of a chat completion that counts; some servers send an `error` with status 200."""

    choices: list[_Choice] | None = None
    usage: Any = None
    error: Any = None


class OpenAIJudge:
    """A `harness.ports.JudgeModel` over `openai.AsyncOpenAI`; works on asyncio and trio.

    Retries, their waits and Retry-After (up to 120 s each) are the client's, `settings.retries` of them; one attempt
    takes `settings.timeout_ms` at most. What the server does not take of a request (a JSON Schema, a seed) is left
    out, and left out at once from then on. An empty `ref.base_url` is the client's own default, OPENAI_BASE_URL
    included; an empty `api_key` means the server needs none. Raises UsageError for a URL or key that cannot be one.
    """

    def __init__(self, ref: JudgeRef, settings: JudgeSettings, api_key: str) -> None:
        from harness.models.bounded import BoundedClient

        self._ref, self._settings = ref, settings
        key = checked_key(api_key, JUDGE)
        http = BoundedClient(settings.timeout_ms / 1000, _MAX_REPLY_BYTES)
        self._client = open_client(checked_url(ref.base_url, JUDGE), key, http, settings.retries)
        self._failures = Failures(f"the judge {ref.model} at {shown(self._client.base_url)}", key, JUDGE)
        self._dialect = Dialect()

    async def ask(self, prompt: JudgePrompt) -> JudgeReply:
        """One reply. Raises UpstreamError where, after retries and simpler requests, there is none to read."""
        import openai

        dialect = self._dialect
        while True:
            try:
                body = await self._post(dialect.body(self._ref.model, self._settings, prompt))
                reply = self._read(body)
            except UpstreamError:
                raise
            except openai.APIStatusError as err:
                below = _below(dialect, err)
                if below is None:
                    raise self._failures.of(err) from err
                dialect = below
            except Exception as err:
                # Not only OpenAIError: whatever a hostile reply brings openai or httpx to raise ends here.
                raise self._failures.of(err) from err
            else:
                self._dialect = self._dialect.joined(dialect)
                return reply

    async def aclose(self) -> None:
        """Close the connections; no call may follow."""
        await self._client.close()

    async def _post(self, body: dict[str, Any]) -> bytes:
        """The bytes of a reply with status 2xx; decoding them is ours, so that wrong types are seen."""
        import httpx2

        response = await self._client.post("/chat/completions", body=body, cast_to=httpx2.Response)
        return response.content

    def _read(self, body: bytes) -> JudgeReply:
        error, clean = self._failures.error, self._failures.clean
        try:
            completion = msgspec.json.decode(body, type=_Completion)
        except (ValueError, RecursionError) as err:
            raise error(
                f"answered with no chat completion: {clean(str(err))}", "check the URL, it ends in /v1"
            ) from err
        if completion.error is not None and not completion.choices:
            raise error(f"answered with an error: {clean(said(completion.error))}")
        sent, answered = (tokens(completion.usage, name) for name in ("prompt_tokens", "completion_tokens"))
        if not completion.choices:
            return JudgeReply("", sent, answered, "the reply has no choices")
        choice = completion.choices[0]
        refused = _refused(choice)
        return JudgeReply(choice.message.content or "", sent, answered, refused and clean(refused))


def _refused(choice: _Choice) -> str | None:
    """Why a choice is no answer, if it is none."""
    if choice.message.refusal:
        return f"refused: {choice.message.refusal}"
    if choice.finish_reason == "content_filter":
        return "stopped by the content filter"
    if choice.finish_reason == "length":
        return "cut off at the limit of its length"
    return None if (choice.message.content or "").strip() else "the reply is empty"


def _below(dialect: Dialect, err: openai.APIStatusError) -> Dialect | None:
    """What to ask next of a server that did not take a request; None: nothing simpler would help.

    It complains of the parameter it names first, then in its words, the whole body last. Some call their own mistake
    what is a request they cannot read (llama-cpp-python), so a 5xx counts where it names a parameter.
    """
    complaint = complaint_of(err)
    if err.status_code in (400, 404, 422) or (err.status_code >= 500 and named_parameter(complaint)):
        return dialect.below(complaint)
    return None
