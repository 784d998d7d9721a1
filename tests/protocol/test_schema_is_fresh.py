"""schema.json is what the structs say, and says what the codec does."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from protocol import schema

VECTORS = schema.PATH.parent / "vectors"
INDEX = json.loads((VECTORS / "invalid" / "index.json").read_bytes())


def validator(side: str) -> jsonschema.Draft202012Validator:
    whole = schema.generate()
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{side}", "$defs": whole["$defs"]})


def test_the_stored_schema_is_not_stale() -> None:
    assert schema.PATH.read_text(encoding="utf-8") == schema.render(), "run `python -m protocol.schema`"


def test_the_schema_is_itself_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.generate())


@pytest.mark.parametrize("path", sorted((VECTORS / "valid").iterdir()), ids=lambda path: path.stem)
def test_valid_lines_fit_the_schema(path: Path) -> None:
    side = "AgentMessage" if path.stem.startswith("agent") else "HarnessMessage"
    for line in path.read_bytes().split(b"\n")[:-1]:
        validator(side).validate(json.loads(line))


def test_invalid_messages_do_not_fit_the_schema() -> None:
    beyond = {"message-huge-cost.jsonl"}  # the range of a double, of which JSON Schema knows nothing
    whole = [case for case in INDEX if case["code"] in ("not_an_object", "unknown_type", "invalid_message")]
    for case in whole:
        if case["file"] in beyond:
            continue
        value = json.loads((VECTORS / "invalid" / case["file"]).read_bytes())
        side = "AgentMessage" if case["from"] == "agent" else "HarnessMessage"
        assert not validator(side).is_valid(value), case["file"]
