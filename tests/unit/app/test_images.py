"""Names of agent images and their bases, without an engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from harness.app.images import base_of, default_tag, locate_agent, parts_of, resolve_agent, stand_in_for
from harness.cli.image import image
from harness.errors import UsageError


@pytest.mark.parametrize(
    ("dockerfile", "base"),
    [
        ("ARG BASE=python:3.12-slim\nFROM ${BASE}\n", "python:3.12-slim"),
        ('# ARG BASE=no\nARG BASE="fumehood/python"\nFROM $BASE', "fumehood/python"),
        ("  ARG   BASE=a/b@sha256:00 \n", "a/b@sha256:00"),
        ("ARG BASE\nFROM scratch", None),
        ("FROM scratch", None),
        ("ARG BASED=x", None),
    ],
)
def test_the_base_is_the_default_of_arg_base(dockerfile: str, base: str | None) -> None:
    assert base_of(dockerfile) == base


@pytest.mark.parametrize(
    ("base", "stand_in"),
    [
        ("python:3.12-slim", "fumehood-base/python"),
        ("docker.io/library/node:20", "fumehood-base/node"),
        ("localhost:5000/busybox", "fumehood-base/busybox"),
        ("golang@sha256:00ff", "fumehood-base/golang"),
    ],
)
def test_a_stand_in_is_named_by_the_repository(base: str, stand_in: str) -> None:
    assert stand_in_for(base) == stand_in


@given(
    st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1).filter(
        lambda t: t not in (".", "..")
    )
)
def test_any_folder_name_gives_a_valid_tag(name: str) -> None:
    tag = default_tag(Path("/agents") / name)
    assert tag.startswith("fumehood/")
    rest = tag.removeprefix("fumehood/")
    assert rest
    assert set(rest) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert not rest.startswith("-")
    assert not rest.endswith("-")


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "a:1",
        "localhost:5000/a/b:V1",
        "Host:5000/a",
        "A.example/b",
        "a@sha256:" + "0f" * 32,
        "sha256:" + "0f" * 32,
        "0f" * 6,
    ],
)
def test_any_form_of_an_image_name_is_one(name: str) -> None:
    assert locate_agent(name) == (name, name)


@pytest.mark.parametrize("name", ["Upper/Case", "Up/case", "a b", "a:b:c", "a\n", "-x y"])
def test_what_is_neither_folder_nor_image_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="neither a folder nor an image name"):
        locate_agent(name)


def test_an_image_name_is_taken_as_it_is() -> None:
    assert resolve_agent("registry.example/team/agent:1") == "registry.example/team/agent:1"


def test_a_path_that_is_no_folder_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        resolve_agent(str(tmp_path / "gone"))
    with pytest.raises(UsageError, match="neither a Dockerfile nor"):
        resolve_agent(str(tmp_path))


@pytest.mark.parametrize("argument", ["novalue", "=x", ""])
def test_a_build_argument_without_a_value_is_a_usage_error(tmp_path: Path, argument: str) -> None:
    done = CliRunner().invoke(image, ["build", str(tmp_path), "--build-arg", argument])
    assert done.exit_code == 2
    assert "KEY=VALUE" in done.output


def test_images_of_ours_that_files_are_copied_from_are_found() -> None:
    dockerfile = (
        "FROM x\nCOPY --from=fumehood/gateway /bin/ /b/\n  copy --from=fumehood/no /a /b\nCOPY --from=build a b\n"
    )
    assert parts_of(dockerfile) == ["fumehood/gateway"]
