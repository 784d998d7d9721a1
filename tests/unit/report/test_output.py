"""Files asked for by name: whole or not at all, and an error with a remedy where they cannot be written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.errors import StoreError, UsageError
from harness.report.output import output_file, require_writable


def write(path: Path, data: bytes = b"new") -> None:
    with output_file(path) as file:
        file.write(data)


def half(path: Path, error: BaseException) -> None:
    with output_file(path) as file:
        file.write(b"half")
        raise error


def test_a_file_is_there_once_it_is_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    with output_file(path) as file:
        file.write(b"half")
        file.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"
    assert os.listdir(tmp_path) == ["out.xml"]


@pytest.mark.parametrize("error", [StoreError("broken"), KeyboardInterrupt(), OSError(5, "broken", "scores.jsonl")])
def test_what_goes_wrong_while_writing_leaves_the_old_file_and_is_told_as_it_is(
    error: BaseException, tmp_path: Path
) -> None:
    path = tmp_path / "out.xml"
    path.write_bytes(b"old")
    with pytest.raises(type(error)) as raised:
        half(path, error)
    assert raised.value is error
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out.xml"]


def test_a_file_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o600)
    link.symlink_to(real)
    write(link)
    assert link.is_symlink()
    assert (real.read_bytes(), stat.S_IMODE(real.stat().st_mode)) == (b"new", 0o600)


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    write(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("do", [write, require_writable])
@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("none/out.xml", "there is no folder", "make it first"),
        (".", "it is a folder", "name a file in it"),
        ("file/out.xml", "there is no folder", "make it first"),
        ("x" * 300, "File name too long", "check its permissions"),
    ],
)
def test_a_place_that_cannot_be_written_is_a_usage_error_with_a_remedy(
    name: str, message: str, remedy: str, do: object, tmp_path: Path
) -> None:
    assert callable(do)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as raised:
        do(tmp_path / name)
    assert message in raised.value.message
    assert remedy in raised.value.remedy
    assert os.listdir(tmp_path) == ["file"]


def test_asking_first_leaves_nothing_behind_and_changes_nothing(tmp_path: Path) -> None:
    require_writable(tmp_path / "out")
    assert os.listdir(tmp_path) == []
    (tmp_path / "out").write_bytes(b"old")
    require_writable(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"old"


def test_a_full_disk_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot write /dev/full: No space left on device"):
        write(Path("/dev/full"))


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()))
    reader.start()
    write(pipe)
    reader.join(10)
    assert came == [b"new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_is_appended_to(tmp_path: Path) -> None:
    """`-o /dev/stdout >> FILE` must not lose what FILE holds."""
    script = "from pathlib import Path\nfrom tests.unit.report.test_output import write\nwrite(Path('/dev/stdout'))"
    with (tmp_path / "log").open("wb") as log:
        log.write(b"old ")
        log.flush()
        subprocess.run([sys.executable, "-c", script], stdout=log, check=True)
    assert (tmp_path / "log").read_bytes() == b"old new"
