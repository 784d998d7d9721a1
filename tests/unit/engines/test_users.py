"""Which user an agent runs as."""

from __future__ import annotations

import pytest

from harness.engines.users import NOBODY, numeric_user
from harness.errors import ImageInvalid

FILES = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\napp:x:1000:1001::/home/app:/bin/sh\nbroken\n",
    "/etc/group": "root:x:0:\nstaff:x:50:\n",
}


@pytest.mark.parametrize(
    ("given", "user"),
    [
        ("", NOBODY),
        ("root", NOBODY),
        ("0:50", NOBODY),
        ("toor", NOBODY),
        ("00", NOBODY),
        ("app", "1000:1001"),
        ("1000", "1000:1001"),
        ("app:staff", "1000:50"),
        ("app:root", "1000:1000"),
        ("4242", "4242:4242"),
        ("4242:7", "4242:7"),
    ],
)
def test_user_is_a_number_and_never_root(given: str, user: str) -> None:
    assert numeric_user(given, lambda path: FILES.get(path, "")) == user


@pytest.mark.parametrize("given", ["ghost", "app:ghosts", "broken"])
def test_user_the_image_does_not_know_is_named(given: str) -> None:
    with pytest.raises(ImageInvalid, match=given):
        numeric_user(given, lambda path: FILES.get(path, ""))


def test_image_without_accounts_keeps_its_number() -> None:
    assert numeric_user("65532:65532", lambda path: "") == NOBODY
