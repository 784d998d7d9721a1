"""The agent's side of the Fumehood protocol in one file: Python 3.8 or later, standard library only.

    def agent(task, tools):
        found = tools.call("policy_lookup", tier="premium")
        return "Returns are free for %s days." % found["days"]

Put that in `example.py` and start `python -m fumehood_agent example:agent`, or end the file with
`fumehood_agent.run(agent)`. An `async def agent` works too; calls may come from several threads.

What the agent returns is its answer: a str is text; a dict, list, number or bool is data;
`Answer(text=..., data=...)` is both; `Refusal(text)` refuses. An exception fails the task: its message goes
into the answer, its traceback to stderr. The process ends when the agent returns.

Where `fumehood_gateway.py` lies beside it, model APIs and MCP are served on loopback too, and the environment says
where, before the agent's module is imported: a client made there works.
"""

import asyncio
import importlib
import importlib.util
import inspect
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from json import dumps, loads  # held on to: some agents replace what is in `json`

__all__ = ["Answer", "CallError", "Cancelled", "ModelError", "Refusal", "Task", "ToolDenied", "ToolError", "run"]

PROTOCOL = "1.0"
LEVELS = ("debug", "info", "warning", "error")
GRACE_S = 0.1
GATEWAY = "fumehood_gateway"
GATEWAY_PORT = 4181  # always the same, so that a client's own settings file may name it
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "LITELLM_PROXY_API_KEY")
PLACEHOLDER = "sk-placeholder"


class CallError(Exception):
    """A call that was not answered as hoped."""


class ToolError(CallError):
    """A tool call failed. `code` and `reason` say why; `content` is what the tool answered."""

    def __init__(self, name, reason="", code="", content=None):
        super().__init__("tool %s: %s" % (name, reason or code or "failed"))
        self.name, self.reason, self.code, self.content = name, reason, code, content


class ToolDenied(ToolError):
    """The tool may not be called; calling it again will not help."""


class ModelError(CallError):
    """A model call failed; the message says why."""


class Cancelled(CallError):
    """Nobody waits for the answer any more: the task was cancelled or the channel is closed."""


class Answer:
    """An answer with text, data, or both."""

    def __init__(self, text=None, data=None):
        self.text, self.data = text, data


class Refusal:
    """The agent declines the task; `text` tells the user why."""

    def __init__(self, text, data=None):
        self.text, self.data = text, data


class Tools:
    """The tools of a task: `tools.names()`, `tools.call("name", key=value)`, `tools["name"](key=value)`."""

    def __init__(self, channel, specs):
        self._channel = channel
        self._specs = {spec["name"]: spec for spec in specs}

    def names(self):
        """Names of the tools, in the order given."""
        return list(self._specs)

    def describe(self, name=None):
        """One tool as {name, description, input_schema}, or the list of all."""
        return list(self._specs.values()) if name is None else self._specs[name]

    def call(self, name, arguments=None, /, **more):
        """Call a tool and return its content. Raises ToolDenied or ToolError."""
        arguments = dict(arguments or {}, **more)
        self._channel.steps.append({"kind": "tool_call", "name": name, "arguments": arguments})
        reply = self._channel.ask("tool_call", name=name, arguments=arguments)
        content, status = reply.get("content"), reply.get("status")
        if status == "ok":
            return content
        code = content.get("code", "") if isinstance(content, dict) else ""
        reason = reply.get("reason") or (content.get("message", "") if isinstance(content, dict) else content)
        raise (ToolDenied if status == "denied" else ToolError)(name, str(reason or ""), str(code), content)

    def __getitem__(self, name):
        return lambda arguments=None, /, **more: self.call(name, arguments, **more)

    def __iter__(self):
        return iter(self._specs)

    def __contains__(self, name):
        return name in self._specs

    def __len__(self):
        return len(self._specs)


class Task:
    """The work. `input` is its text, `messages` the same as a conversation of {role, content}."""

    def __init__(self, channel, invoke):
        self._channel = channel
        given = invoke.get("input", "")
        self.messages = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        users = [m["content"] for m in self.messages if m.get("role") == "user"]
        self.input = given if isinstance(given, str) else (users[-1] if users else "")
        self.context = invoke.get("context") or {}
        self.budget = invoke.get("budget") or {}
        self.workspace = invoke.get("workspace")
        self.raw = invoke

    def ask(self, question):
        """Ask the user; returns the answer's text."""
        self._channel.steps.append({"kind": "ask", "content": str(question)})
        return self._channel.ask("ask", content=str(question)).get("content", "")

    def model(self, request):
        """Call a model with an OpenAI chat-completions body; returns the completion. Raises ModelError."""
        self._channel.steps.append({"kind": "model_call"})
        reply = self._channel.ask("model_call", request=request)
        response = reply.get("response")
        if reply.get("error") or not isinstance(response, dict):
            raise ModelError(str(reply.get("error") or "no response"))
        self._channel.count(response.get("usage") or {})
        return response

    def note(self, text, level="info"):
        """Write a line to the log; `level` is debug, info, warning or error."""
        self._channel.send({"type": "note", "level": level if level in LEVELS else "info", "text": str(text)})

    def state(self, snapshot):
        """Report a snapshot of the agent's state (anything JSON can hold)."""
        self._channel.send({"type": "state", "snapshot": snapshot})


class Channel:
    """Lines of JSON on private copies of stdin and stdout; replies are matched to calls by id.

    `tools`: the task's, None until there is one. `lent`: the gateway made calls, which `usage` does not count.
    """

    Cancelled = Cancelled

    def __init__(self):
        sys.stdout.flush()
        self._in = os.fdopen(os.dup(0), "rb", buffering=1 << 16)
        self._out = os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)  # so that a child process or an input() cannot eat the harness's lines
        os.close(null)
        os.dup2(2, 1)  # so that a print, here or in a child process, ends on stderr
        sys.stdout = sys.stderr
        self._lock = threading.Lock()
        self._waiting, self._next, self._closed = {}, 0, ""
        self.steps, self.usage, self.max_line_bytes = [], {}, 4 << 20
        self.tools, self.lent = None, False

    def send(self, message):
        """Write one message; ValueError if it does not fit the line cap or is not JSON."""
        text = dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        line = text.encode("utf-8", "replace")  # a lone surrogate is not UTF-8: it becomes '?'
        if len(line) > self.max_line_bytes:
            raise ValueError(
                "a %s of %d bytes is over the cap of %d" % (message["type"], len(line), self.max_line_bytes)
            )
        view = memoryview(line + b"\n")
        with self._lock:
            while view:
                view = view[os.write(self._out, view) :]

    def receive(self):
        """The next message, or None at the end of the stream."""
        line = self._in.readline()
        return loads(line.decode("utf-8")) if line.endswith(b"\n") else None

    def ask(self, kind, **fields):
        """Send a call and wait for the reply with its id."""
        return next(self._replies(kind, fields))

    def converse(self, kind, **fields):
        """Like `ask`, for the gateway: each chunk of a streamed answer, then the last reply."""
        self.lent = True
        return self._replies(kind, fields)

    def _replies(self, kind, fields):
        box = queue.SimpleQueue()
        with self._lock:
            self._next += 1
            call_id = "c%d" % self._next
            self._waiting[call_id] = box
        if self._closed:
            raise Cancelled(self._closed)
        self.send(dict(type=kind, id=call_id, **fields))
        more = True
        while more:
            reply = box.get()
            if reply is None:
                raise Cancelled(self._closed)
            more = reply.get("type") == "model_chunk" and not reply.get("done")
            yield reply

    def count(self, usage):
        """Add a completion's usage to what this agent reports."""
        for ours, theirs in (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens")):
            if isinstance(usage.get(theirs), int):
                self.usage[ours] = self.usage.get(ours, 0) + usage[theirs]
        self.usage["model_calls"] = self.usage.get("model_calls", 0) + 1

    def listen(self):
        """Hand replies to whoever waits, until the stream ends; a `cancel` ends the process."""
        try:
            message = self.receive()
            while message is not None:
                if message.get("type") == "cancel":
                    self._close("cancelled: %s" % message.get("reason", ""))
                    threading.Event().wait(GRACE_S)  # time for a `finally` in the agent
                    leave(0)
                more = message.get("type") == "model_chunk" and not message.get("done")
                box = (self._waiting.get if more else self._waiting.pop)(message.get("id"), None)
                if box is not None:
                    box.put(message)
                message = self.receive()
        except ValueError as error:
            print("fumehood_agent: unreadable line from the harness: %s" % error, file=sys.stderr)
        self._close("the channel to the harness is closed")

    def _close(self, why):
        self._closed = why
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for box in waiting.values():
            box.put(None)


def leave(code):
    """End the process at once: a thread or a lock left behind by the agent must not hold it."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(code)


def outcome(result):
    """What the agent returned, as (status, output)."""
    if isinstance(result, Refusal):
        return "refused", {"text": result.text, "data": result.data}
    if isinstance(result, Answer):
        return "completed", {"text": result.text, "data": result.data}
    if result is None or isinstance(result, str):
        return "completed", {"text": result}
    if inspect.isgenerator(result) or inspect.isasyncgen(result):
        raise TypeError("the agent is a generator; it must return its answer")
    return "completed", {"data": result}


def work(handler, channel, invoke):
    """Run the handler; the trajectory it comes to."""
    try:
        result = handler(Task(channel, invoke), Tools(channel, invoke.get("tools") or []))
        if inspect.isawaitable(result):
            result = asyncio.run(_wait_for(result))
        status, output = outcome(result)
        message = {"type": "trajectory", "status": status}
        message["output"] = {key: value for key, value in output.items() if value is not None}
        dumps(message, allow_nan=False)
    except Cancelled:
        raise
    except BaseException as error:  # also SystemExit: a library must not end the task without an answer
        traceback.print_exc()
        text = ("%s: %s" % (type(error).__name__, error))[:4000]
        message = {"type": "trajectory", "status": "failed", "error": {"message": text}}
    if channel.usage and not channel.lent:
        message["usage"] = channel.usage
    return message


async def _wait_for(awaitable):
    return await awaitable


def finish(channel, message):
    """Send the trajectory with its steps; without them, or as a failure, where it would not fit the line cap."""
    too_big = {"type": "trajectory", "status": "failed", "error": {"message": "the answer is over the line cap"}}
    for candidate in (dict(message, steps=channel.steps), message, too_big):
        try:
            return channel.send(candidate)
        except (ValueError, TypeError) as error:
            print("fumehood_agent: %s" % error, file=sys.stderr)


def serve(channel, handler, about):
    """Say ready, take one task, answer it, end the process."""
    info = {key: str(value) for key, value in about.items() if value}
    channel.send({"type": "ready", "protocol": [PROTOCOL], "agent": info, "capabilities": []})
    try:
        invoke = channel.receive()
    except ValueError as error:
        print("fumehood_agent: unreadable invoke: %s" % error, file=sys.stderr)
        leave(1)
    if invoke is None or invoke.get("type") != "invoke":  # cancelled, or closed before there was work
        leave(0)
    channel.max_line_bytes = (invoke.get("limits") or {}).get("max_line_bytes", channel.max_line_bytes)
    channel.tools = invoke.get("tools") or []
    threading.Thread(target=channel.listen, daemon=True).start()
    try:
        finish(channel, work(handler, channel, invoke))
    except (Cancelled, BrokenPipeError):
        pass  # nobody reads the answer any more
    leave(0)


def listen(port):
    """A listening socket on loopback; None where the port is taken."""
    try:
        return socket.create_server(("127.0.0.1", port), backlog=128)
    except OSError:
        if port:
            return None
        raise


def lend(channel):
    """Listen on loopback for the gateway and name it in the environment; the gateway itself waits for the first client."""
    if importlib.util.find_spec(GATEWAY) is None:
        return
    try:
        listener = listen(GATEWAY_PORT) or listen(0)
    except OSError as error:
        print("fumehood_agent: no gateway: %s" % error, file=sys.stderr)
        return
    root = "http://127.0.0.1:%d" % listener.getsockname()[1]
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        os.environ[name] = root + "/v1"
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE", "AZURE_OPENAI_ENDPOINT", "LITELLM_PROXY_API_BASE"):
        os.environ[name] = root
    os.environ["FUMEHOOD_MCP_URL"] = root + "/mcp"
    for name, value in [(name, PLACEHOLDER) for name in KEYS] + [("OPENAI_API_VERSION", "2024-10-21")]:
        os.environ.setdefault(name, value)
    for name in ("NO_PROXY", "no_proxy"):
        os.environ[name] = ",".join(filter(None, [os.environ.get(name), "127.0.0.1,localhost"]))

    def wait():
        connection = listener.accept()
        importlib.import_module(GATEWAY).serve(channel, listener, connection)

    threading.Thread(target=wait, daemon=True).start()


def run(handler, name=None, version="", framework=None, model=None):
    """Serve one task with `handler(task, tools)`; does not return."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # process 1 has no default action for it
    about = {"name": name or handler.__name__, "version": version, "framework": framework, "model": model}
    channel = Channel()
    lend(channel)
    serve(channel, handler, about)


def main(argv):
    """`python -m fumehood_agent module:function`. A module's `AGENT` dict may give name, version, framework, model."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
    channel = Channel()
    lend(channel)
    sys.modules["fumehood_agent"] = sys.modules["__main__"]  # one copy of the classes, also for the agent
    module_name, _, attribute = (argv[1] if len(argv) > 1 else "agent:agent").partition(":")
    try:
        module = importlib.import_module(module_name)
        handler = getattr(module, attribute or "agent")
    except BaseException as error:
        traceback.print_exc()
        what = (module_name, attribute or "agent", type(error).__name__, error)
        print("fumehood_agent: cannot load %s:%s: %s: %s" % what, file=sys.stderr)
        leave(1)
    about = dict({"name": module_name}, **getattr(module, "AGENT", {}))
    serve(channel, handler, about)


if __name__ == "__main__":
    main(sys.argv)
