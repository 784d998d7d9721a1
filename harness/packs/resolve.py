"""A pack as written to a pack ready to run: defaults merged, checks resolved, tools looked up, digest taken."""

from __future__ import annotations

import hashlib

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from harness.domain.limits import Budget
from harness.domain.pack import CheckSpec, Expected, Pack, PackFile, Scenario, ScenarioFile, Verify
from harness.domain.verdict import Property, Severity
from harness.packs.folders import Folders
from harness.ports import CheckCatalogue

_EXPECTED = {
    "exact": ("exact", "value"),
    "contains": ("output_contains", "value"),
    "regex": ("regex", "pattern"),
    "schema": ("schema_validity", "schema"),
}


class Written(msgspec.Struct, frozen=True):
    """Where a pack stands, and for each of its scenarios its line and the files of its folders."""

    path: str
    lines: list[int]
    folders: list[Folders]


def resolve_pack(file: PackFile, written: Written, catalogue: CheckCatalogue) -> Pack:
    """The file must have passed every rule."""
    scenarios = tuple(
        _with_files(replace(_scenario(file, scenario, catalogue), line=line), scenario, folders)
        for scenario, line, folders in zip(file.scenarios, written.lines, written.folders, strict=True)
    )
    pack = Pack(
        name=file.pack.name,
        version=file.pack.version,
        description=file.pack.description,
        digest="",
        path=written.path,
        scenarios=scenarios,
        bars=file.bars,
    )
    return replace(pack, digest=digest_of(pack))


def digest_of(pack: Pack) -> str:
    """`sha256:` and the hex digest of the canonical JSON (sorted keys) without path, digest and lines."""
    bare = replace(pack, path="", digest="", scenarios=tuple(replace(s, line=0) for s in pack.scenarios))
    return "sha256:" + hashlib.sha256(msgspec.json.encode(bare, order="sorted")).hexdigest()


def _with_files(made: Scenario, scenario: ScenarioFile, folders: Folders) -> Scenario:
    if folders.workspace is None:
        return made
    made = replace(made, workspace=folders.workspace)
    if scenario.verify is None:
        return made
    asked = scenario.verify
    return replace(
        made,
        verify=Verify(
            image=asked.image,
            command=tuple(asked.command),
            files=folders.hidden or (),
            timeout_ms=asked.timeout_ms,
            outputs=tuple(asked.outputs),
        ),
    )


def _scenario(file: PackFile, scenario: ScenarioFile, catalogue: CheckCatalogue) -> Scenario:
    shown = [name for name in scenario.allowed_tools if name not in scenario.disallowed_tools]
    servers = dict.fromkeys(server for name in shown if (server := file.tools[name].server) is not UNSET)
    return Scenario(
        id=scenario.id,
        family=scenario.family,
        bucket=scenario.bucket,
        tags=tuple(scenario.tags),
        difficulty=scenario.difficulty,
        holdout=scenario.holdout,
        input=scenario.input if isinstance(scenario.input, str) else tuple(scenario.input),
        context=scenario.context,
        tools={name: file.tools[name] for name in shown},
        allowed_tools=tuple(scenario.allowed_tools),
        disallowed_tools=tuple(scenario.disallowed_tools),
        replies=scenario.replies,
        checks=_checks(scenario, catalogue),
        budget=_merged(file.defaults.budget, scenario.budget),
        trials=file.defaults.trials if scenario.trials is None else scenario.trials,
        canaries=tuple(dict.fromkeys([*file.canaries, *scenario.canaries])),
        writable=scenario.writable,
        selftest=scenario.selftest,
        goal=scenario.goal,
        servers={name: file.tool_servers[name] for name in servers} if servers else UNSET,
    )


def _merged(default: Budget, own: Budget) -> Budget:
    """Key by key: a budget the scenario does not name is the default's."""
    given = {name: value for name, value in msgspec.structs.asdict(own).items() if value is not None}
    return replace(default, **given)


def _checks(scenario: ScenarioFile, catalogue: CheckCatalogue) -> tuple[CheckSpec, ...]:
    """`expected` first, then a `tool_called` for each required tool no listed check asks for, then the listed.

    Hidden tests that no listed check looks at get one, last: they are there to be passed.
    """
    listed = [catalogue.resolve(raw) for raw in scenario.checks]
    asked = {spec.params.get("tool") for spec in listed if spec.check == "tool_called"}
    required = [
        catalogue.resolve({"check": "tool_called", "tool": name})
        for name in dict.fromkeys(scenario.required_tools)
        if name not in asked
    ]
    expected = [] if scenario.expected is None else [_expected(scenario.expected)]
    verify = scenario.verify is not None and all(spec.check != "verify" for spec in listed)
    return (*expected, *required, *listed, *([catalogue.resolve({"check": "verify"})] if verify else ()))


def _expected(expected: Expected) -> CheckSpec:
    if expected.type == "refusal":
        return CheckSpec("refused", Severity.MAJOR, Property.CORRECTNESS)
    check, param = _EXPECTED[expected.type]
    value = expected.schema if expected.type == "schema" else expected.value
    return CheckSpec(check, Severity.MAJOR, Property.CORRECTNESS, {param: value})
