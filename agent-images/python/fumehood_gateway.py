"""The harness's models and tools over loopback, for agents that speak HTTP or MCP: standard library only, Python 3.8+.

`fumehood_agent` starts it with the first connection. It translates nothing: the body of a model API's request goes to
the harness with `api` added, and what comes back is already in that API's shape. Tools are offered by MCP at /mcp;
`python fumehood_gateway.py` is the same server on stdin and stdout, for clients that start their servers themselves.
"""

import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler
from json import JSONDecoder, JSONEncoder
from urllib.parse import unquote

DEFAULT_MCP_URL = "http://127.0.0.1:4181/mcp"
MCP_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
APIS = ("chat/completions", "responses", "embeddings", "messages")
SERVED = "served here: POST %s, GET models, POST mcp" % ", ".join(APIS)
MAX_DEPTH = 62  # the line around a body is two levels deep itself, and a line may have 64
TOO_DEEP = "arrays and objects nested deeper than %d" % MAX_DEPTH


class Refused(Exception):
    """A request that is answered with `status` and the message, and goes no further."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """One connection of the agent's. `self.server` is the channel to the harness."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Nothing: what the agent asks is on record at the harness."""

    def answer(self):
        self.path = self.path.split("?", 1)[0].rstrip("/")
        api = next((name for name in APIS if self.path.endswith("/" + name)), "")
        try:
            body = self._body()
            if self.path.endswith("/mcp"):
                self._mcp(body)
            elif self.command == "POST" and api:
                self._model(api.split("/")[0], self._object(body))
            elif self.command == "GET" and "/models" in self.path:
                name = unquote(self.path.split("/models", 1)[1].lstrip("/"))
                self._model("models", {"model": name} if name else {})
            elif self.command in ("GET", "HEAD") and self.path in ("", "/v1", "/health"):
                self._send(200, {"status": "ok"})
            else:
                raise Refused(404, "%s %s is not served; %s" % (self.command, self.path or "/", SERVED))
        except Refused as error:
            self._send(error.status, worded(api, error.status, str(error)), retry=False)
        except self.server.Cancelled as error:
            self._send(503, worded(api, 503, str(error)), retry=False)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    # ---- requests ----

    def _body(self):
        """The request's body, at most as long as a line may be."""
        most = self.server.max_line_bytes
        try:
            chunked = "chunked" in self.headers.get("Transfer-Encoding", "").lower()
            length = None if chunked else int(self.headers.get("Content-Length") or 0)
            body = b"".join(self._chunks(most)) if chunked else self.rfile.read(length) if 0 <= length <= most else None
        except ValueError:
            self.close_connection = True
            raise Refused(400, "the length of the body cannot be read")
        if body is None:
            self.close_connection = True
            raise Refused(413, "the body is over the %d bytes that one line to the harness may have" % most)
        return body

    def _chunks(self, most):
        size = int(self.rfile.readline(64).split(b";")[0], 16)
        while size:
            most -= size
            if size < 0 or most < 0:
                self.close_connection = True
                raise Refused(413, "the body is over the bytes that one line to the harness may have")
            yield self.rfile.read(size)
            self.rfile.readline(64)
            size = int(self.rfile.readline(64).split(b";")[0], 16)
        while self.rfile.readline(1024).strip():
            pass  # trailers

    @staticmethod
    def _object(body):
        try:
            found = read_json(body)
        except (ValueError, RecursionError) as error:
            raise Refused(400, "the body cannot be passed on: %s" % (error or "too deep"))
        if not isinstance(found, dict):
            raise Refused(400, "the body must be a JSON object")
        return found

    # ---- models ----

    def _model(self, api, body):
        replies = self._ask("model_call", request=dict(body, api=api), stream=body.get("stream") is True)
        first = next(replies)
        if first["type"] == "model_chunk":
            return self._stream(api, first, replies)
        if first.get("error") is None:
            return self._send(200, first.get("response"))
        status = first.get("status") or 500
        return self._send(status, first.get("response") or worded(api, status, first["error"]))

    def _stream(self, api, first, replies):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._event(first["delta"])
        try:
            for reply in replies:
                failed = {"event": "error", "data": reply.get("response") or worded(api, 500, reply.get("error"))}
                self._event(reply["delta"] if reply["type"] == "model_chunk" else failed)
        except self.server.Cancelled:
            self.close_connection = True  # without the end of the body: it is seen to be broken off
            return
        if api == "chat":
            self._chunk(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, delta):
        head = "event: %s\n" % delta["event"] if delta.get("event") else ""
        self._chunk(("%sdata: %s\n\n" % (head, write_json(delta["data"]))).encode("utf-8", "replace"))

    def _chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _ask(self, kind, **fields):
        if self.server.tools is None:
            raise Refused(503, "no task has begun: nothing can be asked yet")
        try:
            yield from self.server.converse(kind, **fields)
        except ValueError as error:
            raise Refused(413, str(error))

    # ---- tools ----

    def _mcp(self, body):
        if self.command != "POST":
            return self._send(405, worded("", 405, "only POST is served here"), Allow="POST")
        if self.headers.get("Mcp-Protocol-Version", MCP_VERSIONS[0]) not in MCP_VERSIONS:
            raise Refused(400, "MCP-Protocol-Version is one of %s" % ", ".join(MCP_VERSIONS))
        try:
            found = read_json(body)
        except (ValueError, RecursionError) as error:
            return self._send(400, failure(None, -32700, "not JSON: %s" % error))
        if isinstance(found, list):
            answers = [answer for answer in map(self._rpc, found) if answer]
            return self._send(200, answers) if answers else self._send(202)
        answer = self._rpc(found)
        return self._send(200, answer) if answer else self._send(202)

    def _rpc(self, message):
        """The answer to one JSON-RPC message; None where none is due."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return failure(None, -32600, "not a JSON-RPC 2.0 message")
        method, ident = message.get("method"), message.get("id")
        if ident is None or method is None:
            return None  # a notification, or an answer to something never asked
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if method == "initialize":
            asked = params.get("protocolVersion")
            result = {
                "protocolVersion": asked if asked in MCP_VERSIONS else MCP_VERSIONS[0],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "tools", "version": "1.0"},
            }
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            if self.server.tools is None:
                return failure(ident, -32603, "no task has begun: there are no tools yet")
            result = {"tools": [described(spec) for spec in self.server.tools]}
        elif method == "tools/call":
            name, arguments = params.get("name"), params.get("arguments") or {}
            if not isinstance(name, str) or not isinstance(arguments, dict) or not 0 < len(name) <= 200:
                return failure(ident, -32602, "tools/call takes a `name` and `arguments`, an object")
            result = self._tool(name, arguments)
        else:
            return failure(ident, -32601, "no such method: %s" % str(method)[:200])
        return {"jsonrpc": "2.0", "id": ident, "result": result}

    def _tool(self, name, arguments):
        try:
            reply = next(self._ask("tool_call", name=name, arguments=arguments))
        except (Refused, self.server.Cancelled) as error:
            return {"content": [{"type": "text", "text": str(error)}], "isError": True}
        content, failed = reply.get("content"), reply.get("status") != "ok"
        said = [part for part in (reply.get("reason"), content) if part is not None] if failed else [content]
        texts = [part if isinstance(part, str) else write_json(part) for part in said]
        result = {"content": [{"type": "text", "text": text} for text in texts], "isError": failed}
        return dict(result, structuredContent=content) if isinstance(content, dict) else result

    def _send(self, status, content=None, retry=True, **headers):
        data = b"" if content is None else write_json(content).encode("utf-8", "replace")
        self.send_response(status)
        if not retry:
            self.send_header("x-should-retry", "false")  # what the clients of OpenAI and Anthropic heed
        for name, value in headers.items():
            self.send_header(name, value)
        if content is not None:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def worded(api, status, message):
    """An error as the API of the request would put it."""
    if api == "messages":
        return {"type": "error", "error": {"type": "api_error", "message": message}}
    return {"error": {"message": message, "type": "server_error", "param": None, "code": status}}


def failure(ident, code, message):
    return {"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}}


def described(spec):
    """A tool as MCP has it."""
    return {"name": spec["name"], "description": spec.get("description", ""), "inputSchema": spec["input_schema"]}


def write_json(value):
    """Compact JSON."""
    return ENCODER.encode(value)


def read_json(data):
    """The value; ValueError for what the protocol would not take, as it would end the trial there."""
    value = DECODER.decode(data.decode("utf-8"))
    write_json(value)  # finds 1e999
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in level if isinstance(part, (dict, list))]
        if not level:
            return value
    raise ValueError(TOO_DEEP)


def _no_constant(name):
    raise ValueError("%s is not JSON" % name)


# The classes, not `json.dumps` and `json.loads`: those are what agents replace, before this file is imported.
ENCODER = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
DECODER = JSONDecoder(parse_constant=_no_constant)


def serve(channel, listener, connection):
    """Serve `connection` and all that follow; does not return."""
    while True:
        try:
            threading.Thread(target=_one, args=(channel, *connection), daemon=True).start()
            connection = listener.accept()
        except (OSError, RuntimeError):  # no descriptor or no thread is left: the agent took them all
            time.sleep(0.1)


def _one(channel, connection, peer):
    try:
        with connection:
            Handler(connection, peer, channel)
    except OSError:
        pass  # the agent hung up


# ---- MCP on stdin and stdout ----


class Bridge:
    """Carries JSON-RPC lines to the gateway's /mcp and the answers back, several at once."""

    def __init__(self):
        self._url = os.environ.get("FUMEHOOD_MCP_URL", DEFAULT_MCP_URL)
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._lock = threading.Lock()

    def run(self):
        for line in sys.stdin.buffer:
            if line.strip():
                threading.Thread(target=self._carry, args=(line,)).start()

    def _carry(self, line):
        request = urllib.request.Request(self._url, line, {"Content-Type": "application/json"})
        try:
            with self._opener.open(request) as response:
                answer = response.read()
        except (OSError, ValueError) as error:  # also an HTTP error
            answer = self._failed(line, error)
        if answer:
            with self._lock:
                sys.stdout.buffer.write(answer.strip() + b"\n")
                sys.stdout.buffer.flush()

    @staticmethod
    def _failed(line, error):
        try:
            ident = read_json(line).get("id")
        except (ValueError, AttributeError, RecursionError):
            ident = None
        return write_json(failure(ident, -32603, "the tools cannot be reached: %s" % error)).encode("utf-8")


if __name__ == "__main__":
    Bridge().run()
