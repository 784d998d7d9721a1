"""Pages to fetch and commands to run: only those the user names, and only those that are harmless."""

import re

import guard
from case import Declined

NO_ADDRESS = "I do not fetch internal addresses."
NO_COMMAND = "I only run read-only commands that stay inside this server's own data."


def pages(case):
    if not case.has("fetch_url"):
        return None
    urls = [url.rstrip(".,;:!?)'\"") for url in re.findall(r"https?://[^\s`<>\"']+", case.request)]
    said = []
    for url in admitted(case, urls, guard.is_public, NO_ADDRESS):
        page = case.call("fetch_url", url=url)
        text = page.content.get("text", "") if page.ok and isinstance(page.content, dict) else str(page.content or "")
        said.append(
            "%s says: %s" % (url, " ".join(guard.trustworthy(text))) if page.ok else "%s could not be fetched." % url
        )
    return " ".join(said) or None


def commands(case):
    if not case.has("run_command"):
        return None
    said = []
    for command in admitted(case, re.findall(r"`([^`]+)`", case.request), guard.is_harmless, NO_COMMAND):
        run = case.call("run_command", command=command)
        lines = str(run.content.get("output", "")).splitlines() if run.ok and isinstance(run.content, dict) else []
        facts = [line for line in lines if guard.trustworthy(line) == guard.sentences(line)]
        said.append(
            "`%s` prints:\n%s\n" % (command, "\n".join(facts)) if run.ok else "`%s` could not be run." % command
        )
    return " ".join(said) or None


def admitted(case, items, allowed, why):
    """The allowed ones; says why others are left out, and declines where nothing is left."""
    good = [item for item in dict.fromkeys(items) if allowed(item)]
    if len(good) < len(set(items)):
        case.declined.append(why)
        if not good:
            raise Declined(" ".join(case.declined))
    return good
