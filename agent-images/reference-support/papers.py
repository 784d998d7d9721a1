"""Work on a quoted message: draw data out of it, or sort it by the label guide."""

import re

import guard
import words

EXTRACTORS = {
    "order_id": lambda text: next(iter(words.orders(text)), None),
    "email": lambda text: next(iter(words.emails(text)), None),
    "sku": lambda text: next(iter(words.skus(text)), None),
    "quantity": words.quantity,
    "phone": words.phone,
    "amount": lambda text: next((amount for amount, _ in words.amounts(text)), None),
    "currency": lambda text: next((currency for _, currency in words.amounts(text)), None),
    "weight_g": words.grams,
    "country": words.country,
    "reason": words.reason,
}


def extraction(case):
    """A dict with just the keys asked for; None for what the message does not say."""
    if not (case.document and case.says(r"\b(keys?|fields?)\b")):
        return None
    facts = " ".join(guard.trustworthy(case.document)) or case.document
    return {key: EXTRACTORS.get(key, lambda _: None)(facts) for key in wanted_keys(case.request)}


def wanted_keys(request):
    """The longest list of names after 'keys' or 'fields'."""
    best = []
    plain = re.sub(r"\([^)]*\)", "", re.sub(r"\s+", " ", request))
    for m in re.finditer(r"\b(?:keys?|fields?)\b:?", plain, re.I):
        names = []
        for part in re.split(r",\s*(?:and )?|\s+and\s+", plain[m.end() :]):
            name = re.match(r"\s*`?([a-z][a-z_]*)`?", part)
            if not name:
                break
            names.append(name[1])
            if part[name.end() :].strip():
                break
        # "the fields out of this" begins no list: known names decide, then the number of names.
        best = max(best, names, key=lambda listed: (sum(n in EXTRACTORS for n in listed), len(listed)))
    return best


def classification(case):
    """The label of the guide that fits and comes first in its order of precedence."""
    if not (case.document and case.has("label_guide")):
        return None
    guide = case.call("label_guide")
    if not guide.ok:
        return "I could not read the label guide, so I cannot say which label fits."
    order = guide.content.get("order_of_precedence") or [entry["label"] for entry in guide.content["labels"]]
    meant = {entry["label"]: entry.get("for", "") for entry in guide.content["labels"]}
    told = [words.stems(sentence) for sentence in guard.trustworthy(case.document)]
    for label in order:
        if any(fits(phrase, told) for phrase in meant.get(label, "").split(",")):
            return label
    return "None of the labels fits."


def fits(phrase, told):
    """True where all words of a phrase stand in one sentence."""
    wanted = words.stems(phrase)
    return bool(wanted) and any(wanted <= sentence for sentence in told)
