"""A baseline as a file: a record frozen under a name, in one stable order, so that git shows what changed.

One top-level field per line or block, sorted, and one trial per line. `sha256` is over the canonical JSON of all the
rest, white space apart. It catches a careless edit; a forger can compute it too, so whoever trusts a baseline keeps
it in git and reviews it there.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, get_args

import msgspec
from msgspec import Struct

from harness.domain.canonical import canonical
from harness.domain.ids import is_safe_id
from harness.domain.outcome import Usage
from harness.domain.record import Record, Trust
from harness.errors import AuditMismatch, StoreError, UsageError

FORMAT = 1
MAX_USED = 10**15
"""Of anything a trial uses: what no trial comes near."""
TRUSTS: tuple[Trust, ...] = get_args(Trust)
"""From least to most trusted."""


class Promotion(Struct, frozen=True, forbid_unknown_fields=True):
    """One step of a baseline's trust; `at` is ISO 8601 in UTC, `by` a person, empty where none was named."""

    at: str
    trust: Trust
    by: str = ""


class Baseline(Struct, frozen=True, forbid_unknown_fields=True):
    """`record.header.trust` is the trust it has now; `history` how it came to it, the first entry being the saving."""

    record: Record
    history: tuple[Promotion, ...]
    digest: str = ""

    @property
    def name(self) -> str:
        return self.record.header.name

    @property
    def trust(self) -> Trust:
        return self.record.header.trust or TRUSTS[0]


class Saving(Struct, frozen=True):
    """How a baseline is to be saved: its name, when, by whom. `accepted`: why, in spite of doubts."""

    name: str
    at: str
    trust: Trust = "candidate"
    by: str = ""
    accepted: str = ""
    git: str | None = None


def baseline_of(record: Record, how: Saving) -> Baseline:
    """The record of a run as a baseline. UsageError for an unsafe name, or doubts that nobody accepted."""
    checked_name(how.name)
    doubts = record.header.doubts
    if doubts and not how.accepted:
        raise UsageError(
            f"run {record.header.run_id} makes no baseline: {'; '.join(doubts)}",
            "run it again; or --accept-inconclusive REASON, which stays with the baseline",
        )
    header = msgspec.structs.replace(
        record.header, name=how.name, trust=how.trust, git=how.git, accepted=how.accepted if doubts else ""
    )
    return Baseline(Record(header, record.trials), (Promotion(how.at, how.trust, how.by),))


def promoted(baseline: Baseline, step: Promotion, force: bool = False) -> Baseline:
    """With more trust, and the step in its history. UsageError for a step back or on the spot, unless forced."""
    if not force and TRUSTS.index(step.trust) <= TRUSTS.index(baseline.trust):
        remedy = f"trust goes {' -> '.join(TRUSTS)}; --force takes it back"
        raise UsageError(f"baseline {baseline.name} is {baseline.trust}: {step.trust} is no step up", remedy)
    header = msgspec.structs.replace(baseline.record.header, trust=step.trust)
    return Baseline(Record(header, baseline.record.trials), (*baseline.history, step))


def checked_name(name: str) -> str:
    """`name`, which can be a file's. UsageError otherwise."""
    if not is_safe_id(name):
        raise UsageError(f"{name[:100]!r} is no name for a baseline", "letters, digits, '.', '_' and '-', at most 100")
    return name


def to_plain(baseline: Baseline) -> dict[str, Any]:
    """The content of the file, but for its digest."""
    plain = msgspec.to_builtins(baseline)
    record = plain.pop("record")
    plain.pop("digest")
    return {"fumehood_baseline": FORMAT, **plain, **record}


def encode(plain: dict[str, Any]) -> bytes:
    """The file's bytes: the same for the same content. `plain`: as `to_plain` gives it, scrubbed."""
    whole = {**plain, "sha256": _digest(plain)}
    trials = [_line(trial) for trial in whole.pop("trials")]
    fields = [f"  {_line(key)}: {json.dumps(whole[key], **_STYLE, indent=2)}" for key in sorted(whole)]
    fields = [field.replace("\n", "\n  ") for field in fields]
    fields.append('  "trials": [' + ",".join(f"\n    {trial}" for trial in trials) + "\n  ]")
    return ("{\n" + ",\n".join(fields) + "\n}\n").encode("ascii")


_STYLE: dict[str, Any] = {"sort_keys": True, "ensure_ascii": True}


def _line(value: Any) -> str:
    return json.dumps(value, **_STYLE)


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(canonical(plain).encode("ascii")).hexdigest()


def decode(data: bytes, where: str) -> Baseline:
    """The baseline in a file. `where` names it in errors.

    AuditMismatch where the content differs from its digest; StoreError where it is none, or of another format.
    """
    try:
        return _decoded(_parsed(data, where), where)
    except RecursionError as error:
        raise StoreError(f"{where} is not a baseline: nested too deep", "take it from git as it was") from error


def _decoded(plain: dict[str, Any], where: str) -> Baseline:
    found = plain.pop("fumehood_baseline", None)
    if found != FORMAT:
        raise StoreError(
            f"{where} is not a baseline of format {FORMAT}: it says {str(found)[:40]!r}",
            "it is from another version, or no baseline",
        )
    digest = plain.pop("sha256", None)
    if digest != _digest({"fumehood_baseline": FORMAT, **plain}):
        raise AuditMismatch(
            f"{where} was changed: its content differs from its sha256",
            "take it from git as it was, or save it again from its run",
        )
    record = {name: plain.pop(name, None) for name in ("header", "trials")}
    try:
        baseline = msgspec.convert({"record": record, "digest": digest, **plain}, Baseline)
    except msgspec.ValidationError as error:
        raise StoreError(f"{where} is not a baseline: {error}", "it was written by another version") from error
    keys = [row.key for row in baseline.record.trials]
    if keys != sorted(set(keys)):
        raise StoreError(f"{where} is not a baseline: its trials are not sorted, one per key", "save it again")
    odd = next((row.key for row in baseline.record.trials if not _possible(row.usage)), None)
    if odd is not None:
        raise StoreError(f"{where} is not a baseline: {odd} used what cannot be", "save it again")
    return baseline


def _possible(usage: Usage) -> bool:
    """What can be counted with: no negative time, no infinite cost, no number that no float holds. -1: not known."""
    return all(-1 <= number <= MAX_USED for number in msgspec.structs.astuple(usage))


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    try:
        plain = json.loads(data.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where} is not a baseline: {error}", "take it from git as it was") from error
    if not isinstance(plain, dict):
        raise StoreError(f"{where} is not a baseline: expected a JSON object", "take it from git as it was")
    return plain


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key given twice would show a reviewer one value and us the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
