"""What every Python adapter shares: the manifest's settings, the agent loaded with its troubles named, the mapping.

Python 3.8 or later, standard library only. `fumehood_adapter.json` beside this file is made from agent.yaml.
"""

import builtins
import copy
import dataclasses
import errno
import functools
import importlib
import importlib.metadata
import json
import os
import sys
import traceback

import fumehood_agent

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fumehood_adapter.json"), encoding="utf-8") as _file:
    SPEC = json.load(_file)
STATE = SPEC["state"]
NO_NETWORK = (errno.ECONNREFUSED, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ETIMEDOUT, errno.EADDRNOTAVAIL)


def about(package=""):
    """What `ready` says of the agent; `package` is the framework's distribution."""
    told = {"name": SPEC["name"], "model": ", ".join(SPEC["models"])}
    try:
        told["framework"] = "%s %s" % (package, importlib.metadata.version(package)) if package else ""
    except importlib.metadata.PackageNotFoundError:
        told["framework"] = package
    return told


def load():
    """The object that the entry names. Where it cannot be loaded, stderr says what is missing and the process ends."""
    module, _, path = SPEC["entry"].partition(":")
    try:
        return functools.reduce(getattr, path.split("."), importlib.import_module(module))
    except BaseException as error:  # also SystemExit
        traceback.print_exc()
        give_up("cannot load %s: %s" % (SPEC["entry"], explained(error)))


def give_up(why):
    """End before `ready`; the last line on stderr is the reason on record."""
    print("fumehood: " + " ".join(str(why).split())[:900], file=sys.stderr)
    fumehood_agent.leave(1)


def adapted(run):
    """A handler of `run(task, tools)` in which `input()` asks the user."""

    @functools.wraps(run)
    def agent(task, tools):
        builtins.input = lambda prompt="": task.ask(prompt)
        return run(task, tools)

    return agent


# ---- the mapping ----


def fill(task, path):
    """`state.start` with the task in it at `state.input`, or at `path`: its text, or at `messages` its conversation."""
    path = STATE.get("input") or path
    steps, filled = path.split("."), copy.deepcopy(STATE.get("start") or {})
    node = filled
    for step in steps[:-1]:
        node = node.setdefault(step, {})
    node[steps[-1]] = task.messages if steps[-1] == "messages" else task.input
    return filled


def answer(result, path=""):
    """What stands in the result at `state.output`, or at `path`, as text or as data that JSON can hold."""
    return plain(pick(result, STATE.get("output") or path))


def pick(value, path):
    """The value at a path of names and numbers; LookupError says what is there instead."""
    for step in filter(None, path.split(".")):
        try:
            if isinstance(value, (list, tuple)):
                value = value[int(step)]
            else:
                value = value[step] if hasattr(value, "keys") else getattr(value, step)
        except (LookupError, AttributeError, ValueError):
            there = sorted(map(str, value)) if hasattr(value, "keys") else type(value).__name__
            raise LookupError("state.output is %r: there is no %r in %s" % (path, step, str(there)[:300])) from None
    return value


def plain(value):
    """Models, dataclasses and messages as text or plain data."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(dataclasses.asdict(value))
    if hasattr(value, "keys"):
        return {str(key): plain(value[key]) for key in value.keys()}
    if isinstance(value, (list, tuple, set, frozenset)):
        parts = [plain(part) for part in value]
        texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(map(str, texts)) if parts and len(texts) == len(parts) else parts  # the blocks of a message
    return str(value)


def called(tools, name, arguments):
    """A tool's answer as the text a model reads; what went wrong is said to it too, so that it can go on."""
    try:
        content = tools.call(name, arguments)
    except fumehood_agent.ToolError as error:
        return "error: %s" % error
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


# ---- troubles ----

_tried = {}


def _watch(event, arguments):
    if event in ("sqlite3.connect", "socket.getaddrinfo", "socket.connect"):
        _tried[event.split(".")[0]] = arguments


sys.addaudithook(_watch)


def explained(error):
    """Why the agent cannot be loaded, and the piece that is missing, in one sentence."""
    cause = error
    while cause is not None:
        why = _missing(cause)
        if why:
            return "%s (%s: %s)" % (why, type(error).__name__, error)
        cause = cause.__cause__ or cause.__context__
    return "%s: %s" % (type(error).__name__, error)


def _missing(error):
    code, path = getattr(error, "errno", None), getattr(error, "filename", None)
    if isinstance(error, ModuleNotFoundError):
        return "needs the module %s: name its package under `install.pip`" % error.name
    if isinstance(error, FileNotFoundError) and path:
        return "needs the file %s, which is not in the image: put it into the agent's folder" % path
    if code in (errno.EROFS, errno.EACCES) and path:
        return "writes %s: name its folder under `writable`" % path
    if code in NO_NETWORK or type(error).__name__ == "gaierror":
        return "needs a service at %s: there is no network, and nothing else runs in the container" % _address()
    if type(error).__name__ == "OperationalError" and "sqlite3" in _tried and "open" in str(error):
        where = os.path.abspath(os.fsdecode(_tried["sqlite3"][0]))
        return "needs the database %s, or its folder under `writable`" % where
    if isinstance(error, KeyError) and _raised_in(error) is type(os.environ).__getitem__.__code__:
        return "needs the environment variable %s: name it under `env`" % error.args[0]
    if isinstance(error, EOFError):
        return "asks for input while it is loaded, when there is nobody to answer: ask during the task"
    if code == errno.ENOTTY or error.args[:1] == (errno.ENOTTY,):
        return "needs a terminal: there is none"
    if isinstance(error, SystemExit):
        return "calls sys.exit(%s) while it is loaded" % ("" if error.code is None else repr(error.code))
    return ""


def _address():
    arguments = _tried.get("socket", ())
    found = arguments[:2] if arguments and isinstance(arguments[0], (str, bytes)) else arguments[1:2]
    if found and isinstance(found[0], tuple):
        found = found[0][:2]
    return ":".join(part.decode() if isinstance(part, bytes) else str(part) for part in found) or "some address"


def _raised_in(error):
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_code if place is not None else None
