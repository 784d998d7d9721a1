"""The case at hand: what is asked, what is only quoted, and tool calls that survive a bad day."""

import re
import time

import guard
from fumehood_agent import ToolDenied, ToolError

TRANSIENT = {"UNAVAILABLE", "TIMEOUT", "RATE_LIMITED", "BUSY", "TEMPORARY", "TRY_AGAIN", "OVERLOADED"}
CHANGES_THINGS = re.compile(r"^(issue|create|send|delete|update|reset|cancel|propose|book|run_command)(_|$)")


class Declined(Exception):
    """The whole task is declined; the text says why."""


class Result:
    """What a tool came to: `content` where it worked, else `code` (and `content` is None)."""

    def __init__(self, content=None, code=""):
        self.content, self.code, self.ok = content, code, not code

    @property
    def missing(self):
        return self.code == "NOT_FOUND"


class Case:
    """One task. `request` is what the user asks, `document` what they only quote, `history` what they said before."""

    def __init__(self, task, tools):
        self._task, self._tools = task, tools
        users = [m["content"] for m in task.messages if m.get("role") == "user"]
        text = users[-1] if users else ""
        request, _, self.document = text.partition("\n---")
        self.history = "\n".join(users[:-1])
        self.request, self.declined = request.strip(), []
        if not self.document:
            self.request, self.declined = guard.legitimate_part(self.request)
        retries = task.budget.get("max_retries_per_tool")
        self._retries = 2 if retries is None else min(2, retries)

    def says(self, pattern):
        return re.search(pattern, self.request, re.IGNORECASE) is not None

    def has(self, *names):
        return all(name in self._tools for name in names)

    def choices(self, tool, argument):
        """The values a tool's schema allows for an argument."""
        return self._tools.describe(tool)["input_schema"].get("properties", {}).get(argument, {}).get("enum", [])

    def tool_taking(self, argument, kind):
        """The first tool whose schema has such an argument of that type, or None."""
        for spec in self._tools.describe():
            if spec["input_schema"].get("properties", {}).get(argument, {}).get("type") == kind:
                return spec["name"]
        return None

    def ask(self, question):
        return self._task.ask(question)

    def call(self, name, **arguments):
        """Call a tool. A failed look-up is tried again; what changes things is never done twice blindly."""
        arguments = {key: value for key, value in arguments.items() if value is not None}
        attempts = 1 if CHANGES_THINGS.match(name) else 1 + self._retries
        code = ""
        for attempt in range(attempts):
            try:
                return Result(self._tools.call(name, arguments))
            except ToolDenied:
                return Result(code="DENIED")
            except ToolError as error:
                code = error.code or "FAILED"
                if code not in TRANSIENT:
                    break
                if attempt + 1 < attempts:
                    time.sleep(0.02 * (attempt + 1))
        return Result(code=code)
