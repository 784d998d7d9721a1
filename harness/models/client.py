"""What every client of an OpenAI-compatible server begins with: a key and a URL that can be ones, and who is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from harness.errors import UsageError
from harness.models.failures import Words

if TYPE_CHECKING:
    import openai

    from harness.models.bounded import BoundedClient

_MAX_TOKENS = 10**12
_COMPLAINT_CHARS = 4000
_NO_KEY = "none"
"""Sent where the user has no key: openai insists on one, and the servers that need none ignore it."""


def open_client(base_url: str, key: str, http: BoundedClient, retries: int) -> openai.AsyncOpenAI:
    """The client; works on asyncio and trio. An empty URL is openai's own default, OPENAI_BASE_URL included."""
    import openai

    client = openai.AsyncOpenAI(
        api_key=key or _NO_KEY,
        admin_api_key="",  # else openai takes one from the environment and sends it where no other key is
        base_url=base_url or None,
        timeout=http.seconds,
        max_retries=retries,
        http_client=http,
    )
    if base_url:
        # what the environment says of an account with OpenAI is for OpenAI alone
        client.organization = client.project = None
        client._custom_headers = {}
    return client


def checked_key(key: str, own: Words) -> str:
    """Without the blanks around it, "" for none. UsageError for what no header can carry; it is not shown."""
    key = key.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise UsageError(f"{own.noun}'s API key holds blanks or other characters that no key has", own.key_remedy)
    return "" if key == _NO_KEY else key


def checked_url(url: str, own: Words) -> str:
    """A URL a call can go to, or "". UsageError else: found by trying, it would look like a server that is down."""
    import httpx2

    remedy = f"write {own.option} openai:MODEL@http://HOST:PORT/v1"
    try:
        httpx2.URL(url)  # finds other mistakes than the standard library does
        parts = urlsplit(url)
        sound = not url or (parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1))
    except (httpx2.InvalidURL, ValueError) as err:
        raise UsageError(f"{own.noun}'s URL cannot be read: {err}", remedy) from err
    if "@" in parts.netloc:
        raise UsageError(f"{own.noun}'s URL holds a user name or password, which would be shown", own.key_remedy)
    if not sound:
        raise UsageError(f"{own.noun}'s URL must begin with http:// or https:// and a host, got {url!r}", remedy)
    return url


def shown(url: Any) -> str:
    """A URL as shown to people: its query may hold what is secret."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}".rstrip("/")


def tokens(usage: Any, name: str) -> int:
    """A count as reported, or -1; no number that could not be one, so that no server can pay itself back."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= _MAX_TOKENS else -1


def complaint_of(err: openai.APIStatusError) -> str:
    """All that a server says of a request it did not take: the parameter it names first, the whole body last."""
    return f"{err.param or ''} {err.message} {err.body}"[:_COMPLAINT_CHARS]
