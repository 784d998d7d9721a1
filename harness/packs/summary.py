"""What `pack show` tells of a pack: plain data for a table or JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
from msgspec import UNSET

from harness.domain.pack import Pack, Scenario
from harness.domain.workspace import WorkFile


def summary_of(pack: Pack) -> dict[str, Any]:
    """{name, version, description, digest, bars, families, buckets, scenarios: [row]}; counts in pack order."""
    return {
        "name": pack.name,
        "version": pack.version,
        "description": pack.description,
        "digest": pack.digest,
        "bars": {name.value: bar for name, bar in pack.bars.items()},
        "families": dict(Counter(scenario.family for scenario in pack.scenarios)),
        "buckets": dict(Counter(scenario.bucket for scenario in pack.scenarios)),
        "scenarios": [_row(scenario) for scenario in pack.scenarios],
    }


def detail_of(scenario: Scenario) -> dict[str, Any]:
    """A resolved scenario in full, as JSON data; of files their path, size in bytes and mode."""
    data: dict[str, Any] = msgspec.to_builtins(scenario)
    if scenario.workspace is not UNSET:
        data["workspace"] = _listed(scenario.workspace)
    if scenario.verify is not UNSET:
        data["verify"]["files"] = _listed(scenario.verify.files)
    return data


def _listed(files: tuple[WorkFile, ...]) -> list[dict[str, Any]]:
    return [
        {"path": file.path, "size": len(file.content), **({"executable": True} if file.executable else {})}
        for file in files
    ]


def yaml_of(detail: dict[str, Any]) -> str:
    """What `detail_of` gives as YAML, the way a pack is written, without the fields that are not set."""
    from io import StringIO

    from ruamel.yaml import YAML

    yaml: Any = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None
    yaml.sort_base_mapping_type_on_output = False
    yaml.width = 100
    page = StringIO()
    yaml.dump(_set_only(detail), page)
    return page.getvalue()


def tools_of(pack: Pack) -> set[str]:
    """The names of all tools any scenario shows to an agent."""
    return {name for scenario in pack.scenarios for name in scenario.tools}


def workspaces_of(pack: Pack) -> int:
    """How many scenarios bring a workspace."""
    return sum(scenario.workspace is not UNSET for scenario in pack.scenarios)


def _row(scenario: Scenario) -> dict[str, Any]:
    return {
        "id": scenario.id,
        "family": scenario.family,
        "bucket": scenario.bucket,
        "trials": scenario.trials,
        "holdout": scenario.holdout,
        "tools": list(scenario.tools),
        "checks": [spec.check for spec in scenario.checks],
        **({} if scenario.workspace is UNSET else {"workspace": len(scenario.workspace)}),
        **({} if scenario.verify is UNSET else {"verify": scenario.verify.image}),
    }


def _set_only(data: dict[str, Any]) -> dict[str, Any]:
    """Without the fields that are not set; what a tool returns, null and empty too, stays as it is."""
    tools = {
        name: {
            **tool,
            "replies": [{k: v for k, v in r.items() if v is not None or k == "return"} for r in tool["replies"]],
        }
        for name, tool in data["tools"].items()
    }
    return {
        key: item for key, item in {**data, "tools": tools}.items() if item is not None and item not in ((), [], {})
    }
