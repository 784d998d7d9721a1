"""The exception tree: an exception means *we* could not go on; a verdict is a value.

FumehoodError                      code            blame        exit
├── UsageError                     usage           user         2    wrong arguments, refused names, bad files
│   └── PackError                  pack_invalid    pack         2    a pack with problems, all of them listed
├── FrictionError                  friction        integration  6    the agent cannot be run at all
│   ├── ImageMissing               image_missing   integration  6
│   └── ImageInvalid               image_invalid   integration  6
├── EngineError                    engine_error    harness      6    the container engine failed or is not there
│   ├── EngineUnreachable          engine_unreachable harness   6
│   ├── EngineTimeout              engine_timeout  harness      6    one call to the engine hung
│   └── ContainerLost              container_lost  harness      6    the container or its stream went away
├── PackFault                      pack_error      pack         6    found while running: a missing fixture, say
│   └── CassetteMiss               cassette_miss   pack         6    a call that was never recorded
├── SpendLimit                     spend_limit     harness      6    the run has spent what its user allows
├── UpstreamError                  upstream_error  upstream     6    a model or judge provider failed
└── StoreError                     store_error     harness      6    the store cannot be read or written
    └── AuditMismatch              audit_mismatch  harness      1    evidence differs from what was sealed

Foreign exceptions are mapped to this tree at one seam per library, always `raise ... from`.
"""

from __future__ import annotations

from typing import ClassVar


class FumehoodError(Exception):
    """Base of all errors of ours; `remedy` says what to do about it."""

    code: ClassVar[str] = "fumehood_error"
    blame: ClassVar[str] = "harness"
    exit_code: ClassVar[int] = 6

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} ({self.remedy})" if self.remedy else self.message


class UsageError(FumehoodError):
    """The user asked for something that cannot be: a bad argument, name or file."""

    code = "usage"
    blame = "user"
    exit_code = 2


class PackError(UsageError):
    """A pack with problems; `problems` are `harness.domain.pack.Problem`, in file order."""

    code = "pack_invalid"
    blame = "pack"

    def __init__(self, message: str, problems: tuple[object, ...] = (), remedy: str = "") -> None:
        super().__init__(message, remedy)
        self.problems = problems


class FrictionError(FumehoodError):
    """The agent could not be run at all, which says nothing of its quality."""

    code = "friction"
    blame = "integration"


class ImageMissing(FrictionError):
    code = "image_missing"


class ImageInvalid(FrictionError):
    code = "image_invalid"


class EngineError(FumehoodError):
    """The container engine refused or failed."""

    code = "engine_error"


class EngineUnreachable(EngineError):
    code = "engine_unreachable"


class EngineTimeout(EngineError):
    code = "engine_timeout"


class ContainerLost(EngineError):
    code = "container_lost"


class PackFault(FumehoodError):
    """A pack's mistake that only running it could show."""

    code = "pack_error"
    blame = "pack"


class CassetteMiss(PackFault):
    """A call of a model, or of a served tool, that the cassette holds no answer to.

    It is blamed like a fixture that is missing: a recording is one, and whether the agent, the pack or the recording
    changed cannot be known from here. So it is never the agent's failure, and never a live call.
    """

    code = "cassette_miss"


class SpendLimit(FumehoodError):
    """The run has spent what its user allows it; nothing is said of the agent."""

    code = "spend_limit"


class UpstreamError(FumehoodError):
    """A model or judge provider failed."""

    code = "upstream_error"
    blame = "upstream"


class StoreError(FumehoodError):
    """The store cannot be read or written."""

    code = "store_error"


class AuditMismatch(StoreError):
    """Stored evidence differs from what was sealed."""

    code = "audit_mismatch"
    exit_code = 1


def sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error that matters of a task group: ours before a foreign one, any before a cancellation."""
    leaves: list[BaseException] = []
    todo: list[BaseException] = [group]
    while todo:
        error = todo.pop()
        if isinstance(error, BaseExceptionGroup):
            todo.extend(error.exceptions)
        else:
            leaves.append(error)
    return min(leaves, key=lambda e: (not isinstance(e, FumehoodError), not isinstance(e, Exception)))
