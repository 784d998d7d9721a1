"""The shop's repository: find what breaks the tests, propose one line, prove it."""

import re

MISSPELT = re.compile(r"name '(\w+)' is not defined\. Did you mean: '(\w+)'")
ATTRIBUTE = re.compile(r"has no attribute '(\w+)'\. Did you mean: '(\w+)'")
DRIFTED = re.compile(r"assert (\S+) == (\S+)\s+\+\s+where \1 = (?:\w+\.)*(\w+)")


def repair(case):
    if not (case.has("run_tests") and case.says(r"\btests?\b|\bbuild\b|\bsuite\b|\bred\b")):
        return None
    run = case.call("run_tests")
    if not run.ok:
        return "The tests could not be run."
    if not run.content.get("failures"):
        return "All %s tests pass; there is nothing to repair." % run.content.get("passed", "")
    failure = run.content["failures"][0]
    place = "%s fails at %s line %s." % (failure["test"], failure["file"], failure["line"])
    if not case.has("propose_patch") or case.says(r"\b(do not|don't|without) (chang|touch|edit|modif)"):
        return place
    patch = find_patch(case, failure)
    if patch is None:
        return place + " I found no one-line repair that I could answer for."
    return place + " " + prove(case, patch)


def find_patch(case, failure):
    """(path, line, text) of the repaired line, or None."""
    renamed = MISSPELT.search(failure["error"]) or ATTRIBUTE.search(failure["error"])
    if renamed:
        old = line_of(case, failure["file"], failure["line"])
        return old and (failure["file"], failure["line"], re.sub(r"\b%s\b" % renamed[1], renamed[2], old))
    drift = DRIFTED.search(failure["error"])
    if drift and case.has("search_code"):
        is_now, should_be, name = drift.groups()
        hits = case.call("search_code", query=name)
        for hit in (hits.content or {}).get("hits", []):
            if re.match(r"\s*%s\s*(:[^=]*)?=[^=]" % name, hit["text"]) and "test" not in hit["path"].split("/")[0]:
                old = line_of(case, hit["path"], hit["line"])
                return old and (hit["path"], hit["line"], old.replace(is_now, should_be))
    return None


def line_of(case, path, line):
    """A line of a file as it stands, or None."""
    read = case.call("read_file", path=path)
    lines = read.content.get("content", "").split("\n") if read.ok else []
    return lines[line - 1] if 0 < line <= len(lines) else None


def prove(case, patch):
    path, line, text = patch
    proposed = case.call("propose_patch", path=path, line=line, text=text)
    if not proposed.ok:
        return "My patch was not taken."
    patch_id = proposed.content["patch_id"]
    again = case.call("run_tests", patch_id=patch_id)
    if again.ok and again.content.get("failed") == 0:
        return "Patch %s repairs it: %s tests pass, none fails." % (patch_id, again.content["passed"])
    return "Patch %s is proposed, but the tests do not pass with it yet." % patch_id
