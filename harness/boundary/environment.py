"""What the container's environment holds, exactly, and which folders in it can be written."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

from harness.domain.spec import Policy
from harness.errors import UsageError

SCRATCH = "/tmp"  # noqa: S108  inside the container, where it is a sized tmpfs of its own
WORKSPACE = f"{SCRATCH}/workspace"
"""Where a scenario's files are, for the agent and for hidden tests alike."""

_FOLDERS: dict[str, str] = {
    "HOME": "home",
    "XDG_CACHE_HOME": "cache",
    "XDG_CONFIG_HOME": "config",
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "XDG_RUNTIME_DIR": "run",
    "PIP_CACHE_DIR": "cache/pip",
    "UV_CACHE_DIR": "cache/uv",
    "npm_config_cache": "cache/npm",
    "HF_HOME": "cache/huggingface",
    "TRANSFORMERS_CACHE": "cache/huggingface/hub",
    "TORCH_HOME": "cache/torch",
    "MPLCONFIGDIR": "cache/matplotlib",
    "NUMBA_CACHE_DIR": "cache/numba",
    "TIKTOKEN_CACHE_DIR": "cache/tiktoken",
    "NLTK_DATA": "cache/nltk",
    "GOCACHE": "cache/go",
}
_FIXED: dict[str, str] = {
    **{name: f"{SCRATCH}/{folder}" for name, folder in _FOLDERS.items()},
    "TMPDIR": SCRATCH,
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "LANG": "C.UTF-8",
}
# Caches below /home, not /home itself: images keep their own code there.
_REDIRECTED = ("/var/tmp", "/root", *(f"/home/{user}/.cache" for user in ("agent", "app", "node", "nonroot", "user")))  # noqa: S108
_KERNEL = ("/proc", "/sys", "/dev")


def container_env(image_env: Sequence[str], canaries: Mapping[str, str]) -> dict[str, str]:
    """The whole environment: the image's own `NAME=value` entries, then canaries, then ours; the later wins.

    What the image's author set (loaders such as LD_PRELOAD too) is theirs. UsageError for a canary that would
    take one of our names.
    """
    taken = sorted(set(canaries) & set(_FIXED))
    if taken:
        raise UsageError(f"canaries may not be named {', '.join(taken)}", "these names hold the container's folders")
    pairs = (entry.partition("=") for entry in image_env)
    own = {name: value for name, equals, value in pairs if name and equals and "\0" not in name + value}
    return {**own, **canaries, **_FIXED}


def verify_env(image_env: Sequence[str]) -> dict[str, str]:
    """The environment of hidden tests: the image's own and ours; Python neither puts the working folder first nor
    looks for packages in HOME, so that a file the agent left cannot take the place of a module nobody asked it for."""
    return {**container_env(image_env, {}), "PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}


def scratch_dirs() -> tuple[str, ...]:
    """Folders below SCRATCH that the environment names, parents first; whoever starts the agent makes them."""
    return tuple(sorted(f"{SCRATCH}/{folder}" for folder in _FOLDERS.values()))


def redirect_targets(policy: Policy) -> tuple[str, ...]:
    """Absolute folders to mount as sized tmpfs beside SCRATCH, sorted, none below another; strict has none.

    UsageError for an extra path that is not absolute and normalised, or is the root or the kernel's.
    """
    if policy.writable == "strict":
        return ()
    wanted = sorted({*_REDIRECTED, *(_checked(path) for path in policy.extra_paths)})
    return tuple(path for path in wanted if not any(_below(path, other) for other in (SCRATCH, *wanted)))


def _checked(path: str) -> str:
    problem = ""
    if not path.startswith("/"):
        problem = "is not absolute"
    elif not path.isprintable() or path.startswith("//") or posixpath.normpath(path) != path:
        problem = "is not in its normal form (no '..', '.', double or trailing slash, control character)"
    elif path == "/":
        problem = "is the whole root"
    elif any(path == kernel or _below(path, kernel) for kernel in _KERNEL):
        problem = "belongs to the kernel"
    elif path == SCRATCH:
        problem = "is writable anyway"
    if problem:
        raise UsageError(f"extra path {path[:200]!r} {problem}", "name an absolute folder inside the container")
    return path


def _below(path: str, other: str) -> bool:
    return path.startswith(other + "/")
