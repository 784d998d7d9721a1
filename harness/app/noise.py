"""Noise floors on disk: what flips when nothing was changed, one file for each pack and agent."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from harness.domain.comparison import Comparison, NoiseFloor
from harness.domain.ids import is_safe_id
from harness.domain.record import Header
from harness.errors import StoreError
from harness.stats.intervals import wilson
from harness.store import layout

MAX_PAIRS = 10**9
"""What no two runs come near."""


class KeptFloor(Struct, frozen=True, forbid_unknown_fields=True):
    """A noise floor of one agent on one pack, and the two runs of one configuration that showed it."""

    pack: str
    pack_digest: str
    agent: str
    agent_digest: str
    runs: tuple[str, str]
    created: str
    floor: NoiseFloor


def keep(store: Path, comparison: Comparison, floors: dict[str, NoiseFloor]) -> list[KeptFloor]:
    """Keep what the two runs of `comparison` show, by candidate agent, in place of what was there."""
    base, header = comparison.base, comparison.candidate
    digests = {agent.name: agent.digest for agent in header.agents}
    kept = []
    for agent, floor in floors.items():
        made = KeptFloor(
            pack=header.pack.name,
            pack_digest=header.pack.digest,
            agent=agent,
            agent_digest=digests.get(agent, ""),
            runs=(base.run_id, header.run_id),
            created=header.created,
            floor=floor,
        )
        path = _path(store, made.pack, agent)
        layout.make_dirs(path.parent)
        layout.write_atomically(path, msgspec.json.format(msgspec.json.encode(made)) + b"\n")
        kept.append(made)
    return kept


def floor_for(store: Path, header: Header) -> tuple[NoiseFloor | None, str]:
    """The floor measured for all of a run's agents on its pack, pooled; and a note where it is of another version."""
    kept = [_read(_path(store, header.pack.name, agent.name), header.pack.name, agent.name) for agent in header.agents]
    known = [one for one in kept if one is not None]
    if not known or len(known) < len(kept):
        return None, ""
    pairs, flips = (sum(getattr(one.floor, name) for one in known) for name in ("pairs", "flips"))
    digests = {agent.name: agent.digest for agent in header.agents}
    same = all(one.pack_digest == header.pack.digest and one.agent_digest == digests[one.agent] for one in known)
    note = "" if same else f"the noise floor was measured with another version of pack or agent, on {known[0].created}"
    return NoiseFloor(pairs, flips, flips / pairs if pairs else 0.0, *wilson(flips, pairs)), note


def _path(store: Path, pack: str, agent: str) -> Path:
    if not (is_safe_id(pack) and is_safe_id(agent)):
        raise StoreError(f"{pack[:100]!r} and {agent[:100]!r} are no safe names for a file")
    return store / "noise" / pack / f"{agent}.json"


def _read(path: Path, pack: str, agent: str) -> KeptFloor | None:
    why: object = "it is of another pack or agent, or counts what cannot be"
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=KeptFloor)
        if (kept.pack, kept.agent) == (pack, agent) and 0 <= kept.floor.flips <= kept.floor.pairs <= MAX_PAIRS:
            return kept
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        why = error
    raise StoreError(f"{path} is no noise floor: {why}", "remove it, and measure again: fumehood noise")
