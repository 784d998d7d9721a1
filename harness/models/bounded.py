"""The HTTP client judges and models are asked through: one deadline per attempt, bounded replies, no way elsewhere."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
from openai import OpenAIError

_PLAIN = {"", "identity"}


class ReplyRefused(OpenAIError):
    """A reply that is not read on; as an error of openai's own it is not tried again."""


class TooSlow(httpx2.ReadTimeout):
    """A reply that was not whole in time; openai tries again, as after any time-out of httpx."""


class BoundedClient(httpx2.AsyncClient):
    """Reads every reply to its end within `seconds` and `max_bytes`, and follows no redirect.

    httpx bounds each read, not their sum, so a server that drips would hold a call for ever. A redirect would carry
    the key to another address. Compressed replies are neither asked for nor read: a few bytes may hold gigabytes.
    Proxies of the environment are used, as httpx does, since they are often the only way out; over https they
    do not see the key.
    """

    def __init__(self, seconds: float, max_bytes: int) -> None:
        super().__init__(timeout=seconds, follow_redirects=False, headers={"Accept-Encoding": "identity"})
        self.seconds = seconds
        self._max_bytes = max_bytes

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The whole reply. Raises ReplyRefused, TooSlow, or what httpx raises."""
        options |= {"stream": True, "follow_redirects": False}
        try:
            with anyio.fail_after(self.seconds):
                response = await super().send(request, **options)
                try:
                    body = await self._body(response)
                finally:
                    await response.aclose()
        except TimeoutError as err:
            raise TooSlow(f"no whole reply within {self.seconds:g} s", request=request) from err
        return httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)

    async def _body(self, response: httpx2.Response) -> bytes:
        coding = response.headers.get("content-encoding", "").strip().lower()
        if coding not in _PLAIN:
            raise ReplyRefused(f"the reply is compressed ({coding[:20]}), which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_bytes:
                raise ReplyRefused(f"the reply has more than {self._max_bytes} bytes")
        return bytes(body)
