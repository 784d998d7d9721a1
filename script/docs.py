"""Makes the pages of docs/ that describe what the code fixes, so that they cannot go stale unnoticed."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import click  # noqa: E402
import msgspec  # noqa: E402

from harness.cli.main import COMMANDS, cli  # noqa: E402
from harness.domain.limits import Budget, Limits  # noqa: E402
from harness.domain.outcome import END_RULES, End, EndRule  # noqa: E402
from harness.scoring.registry import ALWAYS_ON, CHECKS, END, SAFETY  # noqa: E402
from harness.scoring.robustness import ended  # noqa: E402
from harness.scoring.safety import zero_disallowed_actions  # noqa: E402
from harness.scoring.text import TEXT_CAP  # noqa: E402

MADE = "<!-- Made by script/docs from {source}: change that, then run it again. -->\n"

ENDS_INTRO = """\
A trial has one end: what happened, and whose doing it was. What an agent does before it says `ready` is the
integration's trouble, whatever the end: then nothing is scored, and it counts as friction.

*Retried*: in a fresh container, a bounded number of times, and on record. *Scored*: its checks are judged on the
evidence there is. *Counted*: it is in the rates; *friction* is counted apart, and an *inconclusive* trial leaves the
run without a verdict. A breach of safety seen before the end stays a breach, whatever the end.
"""
LIMITS_INTRO = """\
They hold for every trial; `fumehood run --limit KEY=VALUE` sets one for a run. A value outside its range is refused by
name. 1 MiB is 1048576 bytes. What each end means is in [ends.md](ends.md).
"""
BUDGETS_INTRO = """\
In a pack under `defaults.budget`, or under `budget` of a scenario, which replaces the default key by key. A budget that
is not set does not limit; the limits above hold all the same. A budget of N allows N.
"""
CHECKS_INTRO = """\
A check looks at one trial and says pass, fail or *not applicable*, which is not counted. Write it in a scenario as
`{check: NAME, PARAMETER: ...}`, and give `severity` and `property` where they are not to be the ones below. A parameter
is shown with its default; one that is neither required nor has a default may be left out. An *answer* is the output of
a trajectory: `text`, `data` or both. Patterns are RE2, searched anywhere, without look-around and back references.

Where it says *may ask a judge*, rules decide what they can, and the rest is for a model: [judge.md](judge.md). Without
`--judge` that rest is *not scored*, and the run exits 3.

The first two are always on, for every trial, and cannot be weakened.
"""

ENDS = {
    End.COMPLETED: "It gave an answer with text or data, and exited with 0.",
    End.REFUSED: "It declined the task with a trajectory of status `refused`.",
    End.BLANK_COMPLETION: "It said `completed` with neither text nor data.",
    End.AGENT_FAILED: "It reported its own failure with a trajectory of status `failed`.",
    End.EXITED: "Its process ended without a trajectory, or with a code other than 0 after it; `detail` has the code.",
    End.CRASHED: "A signal that was not ours killed its process; `detail` has the signal.",
    End.BUDGET_EXCEEDED: "A call or a token went over a budget of the pack; `detail` names budget, limit and count.",
    End.RETRY_LIMIT: "It retried a tool too often, ran in a loop of calls, or had too many calls out at once.",
    End.TIMEOUT: "A deadline of the trial fired: wall time, the pack's `max_duration_ms`, or reading our line.",
    End.IDLE: "It said nothing for too long while nobody owed it an answer.",
    End.CALL_TIMEOUT: "One call of it waited too long for its answer.",
    End.OUTPUT_LIMIT: "It wrote too long a line, too many bytes, or too many messages in a second.",
    End.OOM_KILLED: "The kernel killed a process of it for going over the memory limit.",
    End.PIDS_LIMIT: "It reached the limit of processes and threads.",
    End.DISK_FULL: "It filled its scratch space.",
    End.PROTOCOL_VIOLATION: "It wrote a line that is no message, or a message out of turn; `detail` has the code.",
    End.STARTUP_FAILED: "It ended, or time was up, before it said `ready`.",
    End.VERSION_MISMATCH: "It and the harness share no version of the protocol; the reason names both lists.",
    End.IMAGE_MISSING: "The image is not there.",
    End.IMAGE_INVALID: "The image cannot be started.",
    End.PACK_ERROR: "The pack has no reply for what the agent did, or another hole that only running it could show.",
    End.UPSTREAM_ERROR: "A model provider failed.",
    End.ENGINE_ERROR: "The container engine refused, failed or did not answer.",
    End.CONTAINER_LOST: "Somebody else ended the container, or its stream broke.",
    End.CANCELLED: "The run was interrupted.",
    End.HARNESS_ERROR: "Fumehood itself failed.",
}

_LIMIT = "ends `{}`"
_OUTPUT, _TIMEOUT = _LIMIT.format("output_limit"), _LIMIT.format("timeout")
LIMITS = {
    "max_line_bytes": f"a longer line {_OUTPUT}; complete lines before it still count",
    "max_stdout_bytes": f"more in all {_OUTPUT}",
    "max_stderr_bytes": f"more in all {_OUTPUT}",
    "kept_stderr_bytes": "no breach: of a longer log the last bytes are kept, and how many were dropped is on record",
    "max_messages_per_second": f"more within a second {_OUTPUT}",
    "startup_ms": "no `ready` by then " + _LIMIT.format("startup_failed"),
    "wall_ms": f"no trajectory this long after `ready` {_TIMEOUT}",
    "idle_ms": "this long without a word, while no answer is owed, " + _LIMIT.format("idle"),
    "write_ms": f"a line of ours not read by then {_TIMEOUT}",
    "call_ms": "a call not answered by then " + _LIMIT.format("call_timeout"),
    "cancel_grace_ms": "after `cancel` and the end of its input, TERM follows",
    "term_grace_ms": "after TERM, KILL follows",
    "engine_call_ms": "one call to the engine not answered by then " + _LIMIT.format("engine_error"),
    "memory_bytes": "memory and swap together; more " + _LIMIT.format("oom_killed"),
    "cpus": "no breach: the container gets no more",
    "pids": "processes and threads; one more fails and " + _LIMIT.format("pids_limit"),
    "nofile": "no end of its own: opening one more file fails inside",
    "scratch_bytes": "writing more fails inside and " + _LIMIT.format("disk_full"),
    "shm_bytes": "no end of its own: writing more to /dev/shm fails inside",
}
_BUDGET = _LIMIT.format("budget_exceeded")
BUDGETS = {
    "max_steps": f"tool calls, model calls and asks together; one more {_BUDGET}",
    "max_tool_calls": f"one more {_BUDGET}",
    "max_model_calls": f"one more {_BUDGET}",
    "max_asks": f"one more {_BUDGET}",
    "max_tokens": f"tokens in and out of model calls; the call that goes over {_BUDGET}",
    "max_cost_usd": f"the model call that goes over {_BUDGET}; a call of unknown price ends `pack_error`",
    "max_retries_per_tool": "calls after a failure, and the very same call again; one more "
    + _LIMIT.format("retry_limit"),
    "max_duration_ms": f"no trajectory this long after `ready` {_TIMEOUT}; `wall_ms` still holds",
}
UNITS = {"bytes": "bytes", "ms": "ms", "usd": "US dollars"}
COUNTED = {"max_messages_per_second": "messages", "cpus": "CPUs", "pids": "processes", "nofile": "open files"}


# ---- the command line ----


def cli_page() -> str:
    """A list of all commands, then each with its usage, help, options and examples, from the click tree."""
    root, *others = _contexts()
    parts = ["# The command line\n", MADE.format(source="harness/cli"), _command(root)]
    parts += ["| command | does |", "|---|---|", *map(_row_of, others), ""]
    parts += [_command(ctx) for ctx in others]
    return "\n".join(parts)


def _row_of(ctx: click.Context) -> str:
    path = ctx.command_path
    does = _cell((ctx.command.help or "").strip().split("\n\n", maxsplit=1)[0])
    return f"| [`{path.removeprefix('fumehood ')}`](#{path.replace(' ', '-')}) | {does} |"


def _contexts() -> Iterator[click.Context]:
    """The root, then each noun with its verbs; a noun that is listed but not written yet is left out."""
    root = click.Context(cli, info_name="fumehood", max_content_width=100)
    yield root
    for name in sorted(COMMANDS):
        if importlib.util.find_spec(f"harness.cli.{name}") is None:
            continue
        command = cli.get_command(root, name)
        assert command is not None, name
        ctx = click.Context(command, info_name=name, parent=root)
        yield ctx
        if isinstance(command, click.Group):
            for verb in sorted(command.commands):
                yield click.Context(command.commands[verb], info_name=verb, parent=ctx)


def _command(ctx: click.Context) -> str:
    command = ctx.command
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    parts = [f"## {ctx.command_path}\n", f"```\n{usage}\n```\n", *_help(command.help or "")]
    records = [record for param in command.get_params(ctx) if (record := param.get_help_record(ctx))]
    rows = [f"| `{_cell(names)}` | {_cell(text)} |" for names, text in records if text and "--help" not in names]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def _help(text: str) -> Iterator[str]:
    r"""Paragraphs of a command's help; `\b` keeps the lines of the next one, which becomes a block."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        kept = paragraph.startswith("\b")
        lines = paragraph.removeprefix("\b").strip("\n").split("\n")
        if kept and re.fullmatch(r"Examples?:", lines[0]):
            yield f"{lines[0]}\n\n```sh\n{inspect.cleandoc(chr(10).join(lines[1:]))}\n```\n"
        elif kept:
            yield "```\n" + "\n".join(lines) + "\n```\n"
        else:
            yield " ".join(line.strip() for line in lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", r"\|")


# ---- how a trial ends ----


def ends_page() -> str:
    """Every end with its blame and three answers."""
    assert set(ENDS) == set(END_RULES) == set(End), "an end without a sentence"
    rows = [
        f"| `{end}` | {rule.blame} | {_yes(rule.retry)} | {_yes(rule.scored)} | {_counted(rule)} | {ENDS[end]} |"
        for end, rule in END_RULES.items()
    ]
    return "\n".join(
        [
            "# How a trial ends\n",
            MADE.format(source="harness/domain/outcome.py"),
            ENDS_INTRO,
            "| end | blame | retried | scored | counted | what happened |",
            "|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _yes(answer: bool) -> str:
    return "yes" if answer else "no"


def _counted(rule: EndRule) -> str:
    """Where a trial that is in no rate shows up instead."""
    if rule.counts:
        return "yes"
    return "no: friction" if rule.friction else "no: inconclusive"


# ---- budgets, limits, checks ----


def limits_page() -> str:
    """What an agent may use up and what the box bears."""
    return "\n".join(
        [
            "# Budgets and limits\n",
            MADE.format(source="harness/domain/limits.py"),
            "## Limits: what the box bears\n",
            LIMITS_INTRO,
            *_table(Limits, LIMITS),
            "\n## Budgets: what a pack grants\n",
            BUDGETS_INTRO,
            *_table(Budget, BUDGETS),
            "",
        ]
    )


def _table(struct: type[msgspec.Struct], meanings: dict[str, str]) -> Iterator[str]:
    fields = {field.name: field for field in msgspec.structs.fields(struct)}
    assert set(fields) == set(meanings), "a limit without a meaning"
    schema = msgspec.json.schema(struct)["$defs"][struct.__name__]["properties"]
    yield "| name | default | unit | range | a breach |"
    yield "|---|---|---|---|---|"
    for name, field in fields.items():
        default = "not limited" if field.default is None else _number(field.default, _unit(name))
        yield f"| `{name}` | {default} | {_unit(name)} | {_range(schema[name], _unit(name))} | {meanings[name]} |"


def _unit(name: str) -> str:
    return COUNTED.get(name) or UNITS.get(name.rsplit("_", 1)[-1], name.removeprefix("max_").replace("_", " "))


def _number(value: float, unit: str) -> str:
    if unit != "bytes":
        return f"{value:,}".replace(",", " ")
    for size, name in ((1 << 40, "TiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if value > 1024 and value % size == 0:
            return f"{value / size:g} {name}"
    return str(value)


def _range(schema: dict[str, Any], unit: str) -> str:
    (option,) = (option for option in schema.get("anyOf", [schema]) if option.get("type") != "null")
    above = "exclusiveMinimum" in option
    low = _number(option["exclusiveMinimum" if above else "minimum"], unit)
    return f"{'more than ' if above else ''}{low} to {_number(option['maximum'], unit)}"


_FIXED: dict[str, Callable[..., Any]] = {SAFETY: zero_disallowed_actions, END: ended}


def checks_page() -> str:
    """Every check a pack can name, with its parameters."""
    fixed = [
        f"| `{name}` | {severity} | {prop} | | {_first_line(_FIXED[name])} |"
        for name, (severity, prop) in ALWAYS_ON.items()
    ]
    rows = [
        f"| `{name}` | {check.severity} | {check.property} | {_params(check.params)} | {_says(check.judge)} |"
        for name, check in CHECKS.items()
    ]
    return "\n".join(
        [
            "# Checks\n",
            MADE.format(source="harness/scoring/registry.py"),
            CHECKS_INTRO,
            "| check | severity | property | parameters | what it says |",
            "|---|---|---|---|---|",
            *fixed,
            *rows,
            "",
        ]
    )


def _params(struct: type[msgspec.Struct]) -> str:
    return "<br>".join(_param(field) for field in msgspec.structs.fields(struct))


def _param(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return f"`{field.name}` (required)"
    if field.default is None or field.default is msgspec.NODEFAULT:  # nothing given, or an empty list or mapping
        return f"`{field.name}`"
    return f"`{field.name}` ({_yaml(field.default)})"


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _says(judge: Callable[..., Any]) -> str:
    asks = "Open" in str(inspect.signature(judge).return_annotation)
    return _first_line(judge) + (" *May ask a judge.*" if asks else "")


def _first_line(judge: Callable[..., Any]) -> str:
    doc = inspect.getdoc(judge)
    assert doc, f"{judge.__name__} has no docstring"
    return _cell(doc.split("\n\n", maxsplit=1)[0]).replace("TEXT_CAP", f"{TEXT_CAP} characters")


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "ends.md": ends_page,
    "limits.md": limits_page,
    "checks.md": checks_page,
}


def stale(folder: Path = ROOT / "docs") -> list[str]:
    """Names of the pages that are not what the code says today."""
    return [name for name, make in PAGES.items() if not _is(folder / name, make())]


def _is(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main(arguments: list[str]) -> int:
    """Write what is stale and say so; with --check only say so."""
    names = stale()
    for name in names:
        if arguments == ["--check"]:
            sys.stderr.write(f"stale: docs/{name}; run script/docs\n")
        else:
            (ROOT / "docs" / name).write_text(PAGES[name](), encoding="utf-8")
            sys.stderr.write(f"wrote docs/{name}\n")
    return int(bool(names) and arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
