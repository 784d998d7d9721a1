"""Building images on the real engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.engines import builder
from harness.engines.client import connect
from harness.errors import ImageInvalid, UsageError

pytestmark = pytest.mark.engine


@pytest.fixture
def tag() -> Iterator[str]:
    name = f"fumehood-test/{uuid.uuid4().hex}"
    yield name
    client = connect()
    if builder.exists(name):
        client.remove_image(name, force=True)
    client.close()


def dockerfile(folder: Path, *lines: str) -> Path:
    (folder / "Dockerfile").write_text("\n".join(("ARG BASE=fumehood-base/busybox", "FROM ${BASE}", *lines)) + "\n")
    return folder


def test_a_build_gives_the_image_id_and_takes_build_arguments(tmp_path: Path, tag: str) -> None:
    folder = dockerfile(tmp_path, "ARG WORD=no", 'LABEL word="${WORD}"')
    digest = builder.build_image(folder, tag, {"WORD": "yes"})
    client = connect()
    found = client.inspect_image(tag)
    client.close()
    assert digest == found["Id"]
    assert found["Config"]["Labels"]["word"] == "yes"
    assert builder.exists(tag)


def test_what_dockerignore_names_is_not_sent(tmp_path: Path, tag: str) -> None:
    (tmp_path / ".dockerignore").write_text("secret*\n")
    (tmp_path / "secret.txt").write_text("x")
    dockerfile(tmp_path, "COPY . /in/", "RUN test ! -e /in/secret.txt")
    assert builder.build_image(tmp_path, tag, {}).startswith("sha256:")


def test_a_failing_build_shows_its_last_lines_without_control_bytes(tmp_path: Path, tag: str) -> None:
    dockerfile(tmp_path, r"RUN printf 'about to \033[31mfail\033[0m\033]0;title\007\n' && exit 7")
    with pytest.raises(ImageInvalid) as caught:
        builder.build_image(tmp_path, tag, {})
    assert "about to fail" in caught.value.message
    assert "returned a non-zero code: 7" in caught.value.message
    assert "\x1b" not in caught.value.message
    assert not builder.exists(tag)


def test_a_dockerfile_that_cannot_be_read_is_an_invalid_image(tmp_path: Path, tag: str) -> None:
    (tmp_path / "Dockerfile").write_text("NOT A DOCKERFILE\n")
    with pytest.raises(ImageInvalid, match="unknown instruction"):
        builder.build_image(tmp_path, tag, {})


def test_a_folder_without_dockerfile_is_a_usage_error(tmp_path: Path, tag: str) -> None:
    with pytest.raises(UsageError, match="no Dockerfile"):
        builder.build_image(tmp_path, tag, {})
