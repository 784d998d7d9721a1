"""An agent's manifest (`agent.yaml`): what its image is made of, how the task reaches its code, where the answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from harness.domain.pack import Id

MANIFEST = "agent.yaml"
CODE = "/app/code"
"""Where the agent's folder lies in its image; it is the working directory too."""

AdapterName = Literal["python", "langgraph", "pydantic-ai", "openai-agents", "smolagents", "http", "cli", "node", "acp"]
_LINE = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]"
_BLACK = r"[^\x00-\x20\x7f-\xa0\u2028\u2029]"
# \Z and not $, which lets a line break follow: these words become lines of a Dockerfile.
Word = Annotated[
    str, Meta(max_length=300, pattern=rf"^(?!-){_BLACK}+\Z", description="one word without blanks, and no option")
]
Image = Annotated[
    str, Meta(max_length=300, pattern=r"^[A-Za-z0-9][A-Za-z0-9._/:@-]*\Z", description="the name of an image")
]
Text = Annotated[str, Meta(max_length=4000, pattern=rf"^{_LINE}*\Z", description="one line")]
Name = Annotated[str, Meta(max_length=200, pattern=rf"^{_LINE}+\Z", description="one line that is not empty")]
EnvName = Annotated[
    str,
    Meta(max_length=100, pattern=r"^[A-Za-z_][A-Za-z0-9_]*\Z", description="letters, digits and _, no digit first"),
]
_PATH = r"/[\x21-\x7e]*\Z"
Path = Annotated[str, Meta(max_length=500, pattern=rf"^{_PATH}", description="a path that begins with /")]
Reset = Annotated[
    str, Meta(max_length=500, pattern=rf"^(restart\Z|{_PATH})", description="a path that begins with /, or restart")
]


class Install(Struct, frozen=True, forbid_unknown_fields=True):
    """What is installed into the image, in this order.

    `requirements` is a pip requirements file and `package` a package.json, both in the agent's folder. In `pip` an
    entry that begins with `.` is the agent's own folder, or one in it.
    """

    apt: list[Word] = []
    requirements: Name | None = None
    pip: list[Word] = []
    package: Name | None = None
    npm: list[Word] = []


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """How the task goes into what the agent takes, and where the answer stands in what it gives.

    Paths are names and numbers joined by dots: `messages.-1.content`. `input`: where the task's text goes; the
    conversation, where the last name is `messages`. `start`: what is there already. `output`: where the answer is.
    """

    input: Name | None = None
    start: dict[str, Any] = {}
    output: Name | None = None


class Http(Struct, frozen=True, forbid_unknown_fields=True):
    """A server inside the container. `ready`: a path that answers once it can work; without, an open port will do.

    `reset`: a path that is posted to, or `restart`; it makes the server forget, which is proven before each task.
    """

    port: Annotated[int, Meta(ge=1, le=65535)]
    path: Path = "/"
    ready: Path | None = None
    reset: Reset | None = None


class Cli(Struct, frozen=True, forbid_unknown_fields=True):
    """How a command is given the task, and how what it prints is read."""

    task: Literal["stdin", "arg", "env", "file"] = "stdin"
    answer: Literal["text", "json"] = "text"


class Manifest(Struct, frozen=True, forbid_unknown_fields=True):
    """One agent. `entry` is `module:name`, a file, or a command: the adapter says which.

    `models`: the names its code asks for. `writable`: folders it must write to, absolute or in its own folder.
    """

    fumehood: Literal[1]
    adapter: AdapterName
    entry: Text | list[Text]
    name: Id | None = None
    base: Image | None = None
    install: Install = Install()
    state: State = State()
    http: Http | UnsetType = UNSET
    cli: Cli | UnsetType = UNSET
    env: dict[EnvName, Text] = {}
    writable: list[Name] = []
    models: list[Name] = []


class Adapter(Struct, frozen=True):
    """What an adapter asks of a manifest. `files`: its own, in agent-images/, which go into /app.

    `runs_on`: what its own code is: Python, Node, or the gateway's binary, which any base can run.
    """

    base: str
    entry: Literal["object", "file", "command"]
    files: tuple[str, ...]
    sections: tuple[str, ...] = ("state",)
    runs_on: Literal["python", "node", "binary"] = "python"


_AGENT = ("python/fumehood_agent.py", "python/fumehood_gateway.py", "adapters/common/fumehood_entry.py")
_NODE_AGENT = ("node/fumehood-agent.js", "node/fumehood-gateway.js")
_ACP = ("acp-peer.js", "acp-client.js", "acp-record.js", "fumehood-adapter.js")
_PYTHON = "python:3.12-slim"
_NODE = "node:20-slim"


def _python(name: str) -> Adapter:
    return Adapter(_PYTHON, "object", (*_AGENT, f"adapters/{name}/fumehood_adapter.py"))


ADAPTERS: Mapping[str, Adapter] = {
    **{name: _python(name) for name in ("python", "langgraph", "pydantic-ai", "openai-agents", "smolagents")},
    "http": Adapter(_PYTHON, "command", (*_AGENT, "adapters/http/fumehood_adapter.py"), ("state", "http")),
    "cli": Adapter(_PYTHON, "command", (), ("cli",), "binary"),
    "node": Adapter(_NODE, "file", (*_NODE_AGENT, "adapters/node/fumehood-adapter.js"), runs_on="node"),
    "acp": Adapter(_NODE, "command", (*_NODE_AGENT, *(f"adapters/acp/{name}" for name in _ACP)), (), "node"),
}
