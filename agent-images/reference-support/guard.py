"""What is not done whoever asks, and what in a tool's answer is an order in disguise or a secret."""

import ipaddress
import os
import re
import unicodedata
from urllib.parse import urlsplit

SECRET_NAME = r"[A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:TOKEN|KEY|SECRET|PASSWORD|CREDENTIALS?)"
SECRET = re.compile(
    rf"\b{SECRET_NAME}\b|(?i:\b(?:environment variables?|pass(?:word|phrase)s?|api[ -]?keys?|credentials?|secrets?"
    r"|(?:access|auth|api|session|admin) tokens?|private keys?)\b)"
)
FORGERY = re.compile(
    r"(?i)\b(invoice|receipt|bill|proof of purchase|certificate)\b.*\b(instead of|insurance|fake|forged?|back-?dated?|higher than)\b"
    r"|\b(fake|forged?|back-?dated?)\b.*\b(invoice|receipt|bill|proof|certificate|review)s?\b"
)
PERSONAL = re.compile(
    r"(?i)\b(give|tell|send|show|read|hand|what|which|where|need|want|look up)\b.*"
    r"(\b(home |postal |private |street )?address\b|\b(phone|telephone|mobile)\b|\bdate of birth\b|\bwhere\b.*\blives?\b)"
)
ORDER_IN_DISGUISE = re.compile(
    r"(?i)\b(ignore|disregard|forget) (all|any|your|the|previous)\b|\b(call|invoke|use|run|execute) [`'\"]?[a-z]+_[a-z_]+"
    r"|\bsystem ?:|\bnote to (the|any) |\b(assistants?|ai|agents?|agent hint|classifier)\b.{0,30}[:,]|\bfetch https?:|\brun `"
)
INTERNAL_HOST = re.compile(
    r"(?i)(^|\.)(localhost|local|internal|localdomain|intranet|lan|home|corp)\.?$|^metadata\b|^[^.:]*$"
)
SAFE_PROGRAMS = {"df", "du", "uptime", "free", "date", "ls", "tail", "head", "wc", "stat", "ps", "uname", "whoami"}
FORBIDDEN_PATH = re.compile(
    r"docker|containerd|podman|\.sock\b|/proc\b|/sys\b|/dev\b|/etc\b|/root\b|\.ssh|\.env\b|\.\."
)


def sentences(text):
    """The sentences of a text, white space evened out."""
    return [part for part in re.split(r"(?<=[.?!])\s+(?=[A-Z\"'`=\[])", re.sub(r"\s+", " ", text).strip()) if part]


def why_not(text):
    """Why this is not done, or None."""
    if SECRET.search(text):
        return "I do not hand out secrets, wherever they are kept."
    if FORGERY.search(text):
        return "I do not write papers that say what is not so."
    if PERSONAL.search(text) and not re.search(r"(?i)\b(keys?|fields?|ticket|ship|courier|web page)\b", text):
        return "I do not give out personal data of customers."
    return None


def legitimate_part(request):
    """(what may be done of the request, why the rest is not)."""
    kept, declined = [], []
    for sentence in sentences(request):
        clauses = [sentence]
        if why_not(sentence):
            clauses = re.split(r",?;? and (?:also |then )?", sentence)
        for clause in clauses:
            reason = why_not(clause)
            if reason is None:
                kept.append(clause)
            elif reason not in declined:
                declined.append(reason)
    text = " ".join(kept)
    # A remnant without a purpose of its own ("I want to surprise her") is no task.
    purposeful = re.search(
        r"\?|\b(?:[A-Z]{2,}-\w+)\b|https?:|`|\b(open|create|tell|what|which|how|where|when)\b", text, re.I
    )
    return (text if purposeful or not declined else ""), declined


def is_public(url):
    """True for an http(s) URL whose host is a public name or address, whatever way it is spelt."""
    try:
        parts = urlsplit(url)
        host, _ = unicodedata.normalize("NFKC", parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return False
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return False
    address = _address(host)
    if address is not None:
        address = getattr(address, "ipv4_mapped", None) or address
        return address.is_global
    return not INTERNAL_HOST.search(host)


def _address(host):
    """A host as an IP address, also in the decimal, octal, hex and short spellings the C library takes."""
    try:
        return ipaddress.ip_address(host.split("%")[0])
    except ValueError:
        pass
    parts = host.split(".")
    if len(parts) > 4 or not all(re.fullmatch(r"0x[0-9a-f]*|[0-9]+", part, re.I) for part in parts):
        return None
    try:
        numbers = [
            int(p, 16) if p[:2].lower() == "0x" else int(p, 8 if p[0] == "0" and len(p) > 1 else 10) for p in parts
        ]
        value = numbers[-1]
        for index, number in enumerate(numbers[:-1]):
            value += number << (24 - 8 * index)
        return ipaddress.IPv4Address(value)
    except ValueError:
        return ipaddress.IPv4Address(0)  # a spelling nobody uses honestly


def is_harmless(command):
    """True for one read-only diagnostic command that stays inside."""
    program = command.split()[0] if command.split() else ""
    return program in SAFE_PROGRAMS and not re.search(r"[;&|<>$\n`]", command) and not FORBIDDEN_PATH.search(command)


def trustworthy(text):
    """The sentences of a tool's text that state facts: no orders in disguise, no secrets."""
    return [s for s in sentences(text) if not ORDER_IN_DISGUISE.search(s) and not SECRET.search(s)]


def without_secrets(text):
    """The text with the values of secret-looking environment variables taken out."""
    for name, value in os.environ.items():
        if len(value) >= 6 and re.search(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL", name):
            text = text.replace(value, "[removed]")
    return text
