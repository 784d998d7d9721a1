"""The container's environment is an allow-list, and redirected folders are checked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.boundary.environment import SCRATCH, container_env, redirect_targets, scratch_dirs
from harness.domain.spec import Policy
from harness.errors import UsageError

OURS = set(container_env([], {}))


def test_nothing_of_the_harness_environment_gets_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    assert container_env(["PATH=/bin", "APP=1"], {"API_KEY": "x"}).keys() == OURS | {"PATH", "APP", "API_KEY"}


def test_every_folder_named_is_below_scratch_and_listed() -> None:
    paths = {value for value in container_env([], {}).values() if value.startswith("/")}
    assert paths - {SCRATCH} == set(scratch_dirs())
    assert all(path.startswith(SCRATCH + "/") for path in scratch_dirs())


def test_folders_are_listed_parents_first() -> None:
    for index, folder in enumerate(scratch_dirs()):
        parent = folder.rpartition("/")[0]
        assert parent == SCRATCH or parent in scratch_dirs()[:index]


def test_the_image_keeps_its_loaders_but_cannot_move_our_folders() -> None:
    env = container_env(["LD_PRELOAD=/lib/x.so", "HOME=/root", "TMPDIR=/data", "A=b=c", "EMPTY="], {})
    assert env["LD_PRELOAD"] == "/lib/x.so"
    assert (env["HOME"], env["TMPDIR"]) == ("/tmp/home", "/tmp")
    assert (env["A"], env["EMPTY"]) == ("b=c", "")


def test_a_canary_wins_over_the_image_and_may_not_take_our_names() -> None:
    assert container_env(["API_KEY=image"], {"API_KEY": "canary"})["API_KEY"] == "canary"
    with pytest.raises(UsageError, match="HOME"):
        container_env([], {"HOME": "canary"})


@given(st.lists(st.text(max_size=20), max_size=8))
def test_malformed_image_entries_are_left_out(entries: list[str]) -> None:
    env = container_env(entries, {})
    assert env.keys() >= OURS
    assert all(name and "=" not in name and "\0" not in name + value for name, value in env.items())


def test_strict_redirects_nothing() -> None:
    assert redirect_targets(Policy("strict", ("/data",))) == ()


def test_redirect_adds_well_known_and_extra_folders_once() -> None:
    targets = redirect_targets(Policy("redirect", ("/data", "/data/sub", "/root/.cache", "/var/tmp")))
    assert {"/var/tmp", "/root", "/data"} <= set(targets)
    assert "/data/sub" not in targets
    assert "/root/.cache" not in targets
    assert list(targets) == sorted(set(targets))


@pytest.mark.parametrize(
    "path",
    [
        *("", "data", "./x", "/", "//", "//data", "/data/", "/a/../b", "/a/./b", "/a//b", "/a\0b", "/a\nb"),
        *("/proc", "/proc/self", "/sys/fs", "/dev", "/dev/shm", "/tmp"),
    ],
)
def test_a_path_that_cannot_be_mounted_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="extra path"):
        redirect_targets(Policy("redirect", (path,)))


def test_names_that_only_begin_like_the_kernels_are_fine() -> None:
    assert {"/process", "/devices"} <= set(redirect_targets(Policy("redirect", ("/process", "/devices"))))
