"""What openai and httpx raise, said as an error of ours: what happened, what to do, and never the key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from harness.errors import UpstreamError

_SAID_CHARS = 300


class Words(Struct, frozen=True):
    """How errors speak of a client to whoever started it: what it is, and which options and variable it has."""

    noun: str
    option: str
    settings: str
    key: str

    @property
    def key_remedy(self) -> str:
        return f"set {self.key} (or OPENAI_API_KEY) to a key this server takes"


JUDGE = Words("the judge", "--judge", "--judge-set", "FUMEHOOD_JUDGE_API_KEY")
MODEL = Words("the model", "--model", "--model-set", "FUMEHOOD_MODEL_API_KEY")


class Failures:
    """Errors of one server; `subject` names it, as in "the judge M at URL"; `key` is kept out of all words."""

    def __init__(self, subject: str, key: str, words: Words) -> None:
        self._subject = subject
        self._key = key
        self._words = words

    def of(self, err: Exception) -> UpstreamError:
        """Our error for one of theirs, whose chain is scrubbed of the key too: servers echo what they were sent."""
        import openai

        from harness.models.bounded import ReplyRefused

        for each in _chain(err):
            each.args = tuple(self._scrubbed(arg) if isinstance(arg, str) else arg for arg in each.args)
        if isinstance(err, openai.APITimeoutError):
            return self.error(
                "gave no reply in time, however often it was asked",
                f"see if it is busy, or raise timeout_ms ({self._words.settings})",
            )
        if isinstance(err, openai.APIConnectionError):
            cause = self.clean(str(err.__cause__ or err))
            return self.error(f"cannot be reached: {cause}", "check the URL, and that the server runs")
        if isinstance(err, ReplyRefused):
            return self.error(f"sent a reply that is not read: {self.clean(str(err))}", "use another server")
        if isinstance(err, openai.APIStatusError):
            what, remedy = _status(err.status_code, self._words)
            words = self.clean(said(err.body))
            return self.error(f"{what} (HTTP {err.status_code}{': ' if words else ''}{words})", remedy)
        return self.error(f"failed: {type(err).__name__}: {self.clean(str(err))}")

    def error(self, what: str, remedy: str = "see the server's own log") -> UpstreamError:
        """`what` is said of the server; foreign words in it were cleaned before."""
        return UpstreamError(f"{self._subject} {what}", remedy)

    def clean(self, text: str) -> str:
        """A server's words, fit for a terminal: without the key (before the cut, which might halve it), one line."""
        words = "".join(c if c.isprintable() else " " for c in self._scrubbed(text)).split()
        line = " ".join(words)
        return line if len(line) <= _SAID_CHARS else f"{line[:_SAID_CHARS]}..."

    def _scrubbed(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def said(body: Any) -> str:
    """The words in an error body, of whatever shape."""
    message = body.get("message") if isinstance(body, dict) else None
    return str(message or body or "")


def _status(status: int, own: Words) -> tuple[str, str]:
    """What an HTTP status means, and what to do about it."""
    if status in (401, 403):
        return "refused the key", own.key_remedy
    if status == 404:
        return "knows no such model or path", "check the model's name, and that the URL ends in /v1"
    if status == 429:
        return "takes no more calls for now", f"wait, lower concurrency ({own.settings}), or see the account's quota"
    if 300 <= status < 400:
        return "redirects, and the key is not sent on", "give the URL it redirects to"
    if status >= 500:
        return "failed", "see the server's own log, or try again later"
    return "refused the request", "see what it says; another model or server may take it"


def _chain(err: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while err is not None and id(err) not in seen:
        seen.add(id(err))
        yield err
        err = err.__cause__ or err.__context__
