"""Quantities as the page says them: short, and with their unit."""

from __future__ import annotations


def millis(value: float) -> str:
    """A time given in ms."""
    if value < 1000:
        return f"{value:.0f} ms"
    return f"{value / 1000:.1f} s" if value < 60_000 else f"{int(value // 60_000)} min {value % 60_000 / 1000:.0f} s"


def usd(value: float) -> str:
    """Four significant places below a dollar, cents above."""
    return f"${value:.2f}" if value >= 1 or value == 0 else f"${value:.4g}"


def count(value: float) -> str:
    """A whole number, thousands apart."""
    return f"{round(value):,}".replace(",", "\u202f")


def size(value: float) -> str:
    """Bytes."""
    return f"{value / 2**20:.1f} MiB" if value >= 2**20 else f"{value / 1024:.0f} KiB"
