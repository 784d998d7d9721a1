"""Which user an agent runs as: the image's own by number, or nobody where that would be root."""

from __future__ import annotations

from collections.abc import Callable

from harness.errors import ImageInvalid

NOBODY = "65532:65532"
MAX_ID = 2**31 - 1
"""What engines take."""


def numeric_user(given: str, read: Callable[[str], str]) -> str:
    """`uid:gid` for an image's USER (`name`, `uid`, `name:group` ...). `read` gives a file of the image, or "".

    By number, because a name may stand for uid 0 and tmpfs mounts want numbers. Raises ImageInvalid for a name
    the image does not know.
    """
    name, _, group = given.partition(":")
    if name in ("", "0", "root"):
        return NOBODY
    accounts = _table(read("/etc/passwd"))
    account = accounts.get(name) or next((row for row in accounts.values() if row[1:2] == [name]), None)
    uid = name if _is_number(name) else _number(account, given, "/etc/passwd")
    if not group:
        gid = account[2] if account and len(account) > 2 else uid
    else:
        gid = group if _is_number(group) else _number(_table(read("/etc/group")).get(group), given, "/etc/group")
    if int(uid) == 0:
        return NOBODY
    numbers = int(uid), int(gid) or int(uid) if _is_number(gid) else int(uid)
    if max(numbers) > MAX_ID:
        raise ImageInvalid(f"the image's user {given[:80]!r} is {numbers[0]}:{numbers[1]}", f"name ids up to {MAX_ID}")
    return f"{numbers[0]}:{numbers[1]}"


def _table(text: str) -> dict[str, list[str]]:
    """passwd(5) or group(5) as {name: [password, id, next field]}."""
    rows = (line.split(":") for line in text.splitlines() if line.count(":") >= 2)
    return {row[0]: [row[1], *row[2:4]] for row in rows}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 20


def _number(row: list[str] | None, given: str, where: str) -> str:
    if row is None or len(row) < 2 or not _is_number(row[1]):
        raise ImageInvalid(f"the image's user {given[:80]!r} is not in its {where}", "name a user it has, or a number")
    return row[1]
