"""Attacks on the record: evidence withheld, ends blamed on the harness, answers that say nothing, secrets at seams."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from harness.boundary.redaction import Scrubber
from harness.domain.outcome import End
from harness.domain.traces import CanaryWatch
from harness.ports import ExitInfo
from harness.session.driver import Ended
from harness.session.ending import Seen, conclude, is_blank
from harness.session.session import _findings
from harness.session.tail import SPARE, Tail
from protocol.messages import Output, Trajectory

LOST = ExitInfo(137, 9, False, False, False, -1, reported=False, observed=False)
KEEP = 64 * 1024


def seen(info: ExitInfo, killed: bool = False) -> Seen:
    return Seen(None, Trajectory("completed", Output("fine")), True, info, killed, None, "")


def test_memory_that_takes_the_guard_with_it_is_the_agents_doing_and_not_a_lost_container() -> None:
    """Else an agent that fares badly fills its memory and is given another trial."""
    assert conclude(seen(msgspec.structs.replace(LOST, oom_killed=True))).end is End.OOM_KILLED
    assert conclude(seen(LOST)).end is End.CONTAINER_LOST


@pytest.mark.parametrize("killed", [True, False])
def test_a_missing_report_is_a_finding_of_its_own(killed: bool) -> None:
    codes = [code for code, _ in _findings(Ended(LOST, killed, None, 0), answered=True)]
    assert "not_watched" in codes


BLANKS: list[Any] = [
    Output(""), Output(" \n\t"), Output("\u200b\u200d\ufeff"), Output("\u2800\u3164\u115f\u1160\uffa0"),
    Output("\u00ad\u2060\u180e"), Output("\x00\x07\x1b"), Output("\u034f\ufe0f"), Output("\U000e0041"),
    Output(data=" "), Output(data=[""]), Output(data=[[], {}]), Output(data="\u200b"), Output(data={" ": None}),
    Output("\u200b", [None]),
]  # fmt: skip


@pytest.mark.parametrize("output", BLANKS)
def test_what_shows_nothing_is_blank(output: Output) -> None:
    assert is_blank(Trajectory("completed", output))


@pytest.mark.parametrize(
    "output",
    [Output("0"), Output(data=0), Output(data=False), Output(data={"error": None}), Output(data=[0]), Output(".")],
)
def test_what_shows_something_is_an_answer(output: Output) -> None:
    assert not is_blank(Trajectory("completed", output))


def test_a_secret_cut_at_the_front_of_the_tail_does_not_come_out_when_masks_shrink_the_rest() -> None:
    secret = "Zq7Rk2Vt9Xw4Ny6Bm1Pc8Ld3Hf5Jg0"
    tail = Tail(KEEP)
    tail.feed(b"x" * 100 + secret[:1].encode())
    tail.feed(secret[1:].encode() + b" ")
    # one long key, masked by a few characters: the text gets shorter than what is shown
    tail.feed(b"sk-ant-1" + b"a" * (KEEP + SPARE - len(secret) - 8))
    shown = tail.text(Scrubber({"k": secret}).scrub_text)
    assert secret[1:] not in shown
    assert secret[-12:] not in shown


def test_a_canary_in_the_name_or_id_of_a_call_is_noticed() -> None:
    watch = CanaryWatch({"TOKEN": "Zq7Rk2Vt9Xw4Ny6Bm1Pc8Ld3Hf5Jg0"})
    assert watch.check({"q": "Zq7Rk2Vt9Xw4Ny"}, ("c1", "lookup")) == []
    assert watch.check({"other": "6Bm1Pc8Ld3Hf5Jg0"}, ("c2", "lookup")) == ["TOKEN"], "ids do not stand in between"
    assert watch.check({"q": "x"}, ("Zq7Rk2Vt9Xw4Ny6Bm1Pc8Ld3Hf5Jg0", "lookup")) == ["TOKEN"]
    assert watch.check({"q": "x"}, ("c3", "lookup")) == []
    halves = ("Zq7Rk2Vt9Xw4Ny6", "Bm1Pc8Ld3Hf5Jg0")
    assert [watch.check({}, (half, "lookup")) for half in halves] == [[], ["TOKEN"]]
