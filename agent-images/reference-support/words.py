"""What stands in a text: ids, amounts, weights, countries, tiers, reasons."""

import re

CURRENCY_NAMES = {
    "euro": "EUR",
    "euros": "EUR",
    "€": "EUR",
    "dollar": "USD",
    "dollars": "USD",
    "pound": "GBP",
    "pounds": "GBP",
    "£": "GBP",
    "yen": "JPY",
    "franc": "CHF",
    "francs": "CHF",
    "zloty": "PLN",
    "kronor": "SEK",
}
CURRENCY = r"(?:EUR|USD|GBP|SEK|NOK|DKK|CHF|JPY|PLN|CZK|euros?|dollars?|pounds?|yen|francs?|zloty|kronor|€|£)"
NUMBER = r"\d+(?:[.,]\d+)*"
COUNTRIES = {
    "austria": "AT", "australia": "AU", "belgium": "BE", "brazil": "BR", "canada": "CA", "switzerland": "CH", "china": "CN",
    "czechia": "CZ", "germany": "DE", "denmark": "DK", "estonia": "EE", "spain": "ES", "finland": "FI", "france": "FR",
    "united kingdom": "GB", "great britain": "GB", "greece": "GR", "hungary": "HU", "ireland": "IE", "india": "IN",
    "iceland": "IS", "italy": "IT", "japan": "JP", "south korea": "KR", "lithuania": "LT", "latvia": "LV", "mexico": "MX",
    "netherlands": "NL", "norway": "NO", "new zealand": "NZ", "poland": "PL", "portugal": "PT", "romania": "RO",
    "sweden": "SE", "slovenia": "SI", "slovakia": "SK", "united states": "US", "usa": "US",
}  # fmt: skip
REASONS = (
    ("damaged", r"damag|broke|crack|torn|tear|shatter|defect|faulty|leak|scratch|dent"),
    ("wrong_item", r"wrong|instead of|not what .* ordered|different (item|colou?r|size)"),
    ("late", r"\blate\b|delay|never (came|arrived)|too long"),
    ("changed_mind", r"chang\w* (my|their|his|her|our) minds?|no longer (want|need)|do(es)? not (like|want)"),
)
STOP = set(
    "a an and are as at be by can do does for from has have how i if in is it may me my of on or our says so tell that the their "
    "them they this to up us was we what when where which who will with you your many much please according knowledge base "
    "find look advice use asks bought customer order give know say".split()
)


def orders(text):
    """Order ids, each once, in order."""
    return list(dict.fromkeys(re.findall(r"\b[A-Z]{2}-\d{5}\b", text)))


def skus(text):
    """Article numbers: capitals, a hyphen, capitals or digits; not what is an order or a record of another kind."""
    found = re.findall(r"\b(?!KB-|RF-|TCK-|PATCH-)[A-Z]{2,}-[A-Z0-9]{1,6}\b", text)
    return [sku for sku in dict.fromkeys(found) if not re.fullmatch(r"[A-Z]{2}-\d{5}", sku)]


def emails(text):
    return re.findall(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text)


def number(text):
    """A number as people write it: 1,250.50 and 1.250,50 and 1250,5 are all read."""
    comma, point = text.rfind(","), text.rfind(".")
    if comma > point and (point >= 0 or len(text) - comma != 4):
        text = text.replace(".", "").replace(",", ".")
    return float(text.replace(",", ""))


def currency(word):
    return CURRENCY_NAMES.get(word.lower(), word.upper())


def amounts(text):
    """[(amount, currency)] as they stand in the text."""
    found = []
    for m in re.finditer(rf"(?:({NUMBER})\s?({CURRENCY})(?!\w))|(?:(?<!\w)({CURRENCY})\s?({NUMBER}))", text, re.I):
        found.append((number(m[1] or m[4]), currency(m[2] or m[3])))
    return found


def currencies(text):
    found = re.findall(rf"(?<!\w){CURRENCY}(?!\w)", text, re.I)
    return list(dict.fromkeys(currency(word) for word in found))


def grams(text):
    """The first weight in the text, in whole grams, or None."""
    m = re.search(rf"({NUMBER})[\s-]?(kg|kilos?|kilograms?|kilogrammes?|g|grams?|grammes?)\b", text, re.I)
    return round(number(m[1]) * (1000 if m[2].lower().startswith("k") else 1)) if m else None


def country(text):
    lowered = text.lower()
    return next((code for name, code in COUNTRIES.items() if re.search(rf"\b{name}\b", lowered)), None)


def one_of(values, text):
    """The first of the values that stands in the text as a word ('late_delivery' also as 'late delivery'), or None."""
    lowered = text.lower().replace("_", " ")
    return next((v for v in values if re.search(rf"\b{re.escape(v.lower().replace('_', ' '))}\b", lowered)), None)


def reason(text):
    return next((name for name, pattern in REASONS if re.search(pattern, text, re.I)), "other")


def quantity(text):
    m = re.search(r"\b(\d{1,4})\s?(?:x|×|pieces|pcs|pairs?|units)\b|\bquantity(?: of|:| is)? (\d{1,4})\b", text, re.I)
    return int(m[1] or m[2]) if m else None


def phone(text):
    m = re.search(r"(?<![\w-])\+?\d[\d ()-]{6,}\d(?!\w)", text)
    return m[0] if m else None


def stems(text):
    """Word beginnings that carry meaning, for comparing texts."""
    return {word[:5] for word in re.findall(r"[a-z]{2,}", text.lower()) if word not in STOP}


def keywords(text):
    return [w for w in dict.fromkeys(re.findall(r"[A-Za-z]{3,}", text)) if w.lower() not in STOP]
