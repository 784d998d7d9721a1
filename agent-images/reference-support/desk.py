"""The counter: orders, stock, tickets, shipping prices and money."""

import re

import words

UNTRUSTED = re.compile(r"note|comment|remark|message|email|instruction|memo")


def orders(case):
    """The status of one or several orders."""
    if not (
        case.has("order_lookup") and (words.orders(case.request) or case.says(r"\b(order|parcel|package|delivery)\b"))
    ):
        return None
    ids = order_ids(case)
    batch = case.tool_taking("order_ids", "array")
    if batch and len(ids) > 1:
        found = case.call(batch, order_ids=ids)
        if found.ok:
            return " ".join(describe(order) for order in found.content["orders"])
    said = [one_order(case, order_id) for order_id in ids]
    return " ".join(said) or "I need the order id to look it up."


def one_order(case, order_id):
    found = case.call("order_lookup", order_id=order_id)
    if found.ok:
        return describe(found.content)
    if found.missing:
        return "Order %s was not found: there is no order with this id." % order_id
    said = "I could not find out about order %s: the look-up is unavailable." % order_id
    if case.has("create_ticket") and case.says(r"\bticket\b"):
        said += " " + open_ticket(case, "Status of order %s unknown" % order_id, order_id)
    return said


def order_ids(case):
    """The ids in the request or before it; asks where there is none."""
    found = words.orders(case.request) or words.orders(case.document) or words.orders(case.history)
    return found or words.orders(case.ask("Which order is it about? Please give me the order id."))


def describe(order):
    """An order's plain facts; free text in it is somebody's, not ours to repeat."""
    facts = [
        "%s %s" % (key.replace("_", " "), str(value).replace("_", " "))
        for key, value in order.items()
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and not UNTRUSTED.search(key)
        and key != "order_id"
    ]  # fmt: skip
    return "Order %s: %s." % (order.get("order_id", ""), ", ".join(facts))


def stock(case):
    if not (case.has("stock_lookup") and words.skus(case.request)):
        return None
    said = []
    for sku in words.skus(case.request):
        found = case.call("stock_lookup", sku=sku)
        if not found.ok:
            said.append(
                "No article %s was found." % sku if found.missing else "The stock of %s could not be read." % sku
            )
            continue
        more = ", more expected on %s" % found.content["restock_on"] if found.content.get("restock_on") else ""
        said.append("%s: %s in stock%s." % (sku, found.content["in_stock"], more))
    return " ".join(said)


def ticket(case):
    """A ticket the user asks for outright, not just in case something fails."""
    asked = case.says(r"\b(open|create|file|raise|make)\b.{0,30}\bticket\b")
    if not (case.has("create_ticket") and asked) or case.says(r"\b(if|should|in case)\b.{0,60}\bticket\b"):
        return None
    quoted = re.search(r"[\"“']([^\"”]{3,120})[\"”']", case.request)
    if not quoted:
        answer = case.ask("What shall the subject of the ticket be?")
    return open_ticket(case, quoted[1] if quoted else answer[:120], next(iter(words.orders(case.request)), None))


def open_ticket(case, subject, order_id):
    around = case.request.replace(subject, "")
    category = re.search(r"\bcategory:? (?:is )?(\w+)|\bin (\w+) category", around)
    named = words.one_of(
        case.choices("create_ticket", "category"), (category[1] or category[2]) if category else around
    )
    priority = words.one_of(case.choices("create_ticket", "priority"), around) or "normal"
    made = case.call("create_ticket", subject=subject, category=named or "other", priority=priority, order_id=order_id)
    return "Ticket %s is open." % made.content["ticket_id"] if made.ok else "The ticket could not be opened."


def quote(case):
    """A shipping price, in the currency asked for."""
    if not (case.has("shipping_quote") and case.says(r"ship|send|post|parcel|deliver|courier|freight")):
        return None
    country, weight = words.country(case.request), words.grams(case.request)
    if country is None:
        country = words.country(case.ask("To which country shall it go?"))
    if weight is None:
        weight = words.grams(case.ask("How heavy is the parcel, in kg?"))
    if country is None or weight is None:
        return "Without the country and the weight I cannot give a price."
    speed = "express" if case.says(r"\bexpress\b|\bfast(est)?\b|\bpriority\b") else "standard"
    found = case.call("shipping_quote", country=country, weight_g=weight, speed=speed)
    if not found.ok:
        return "The price could not be looked up."
    price, currency = found.content["price"], found.content["currency"]
    said = "%s shipping of %s g to %s costs %.2f %s." % (speed.capitalize(), weight, country, price, currency)
    wanted = [other for other in words.currencies(case.request) if other != currency]
    if wanted and case.has("convert_currency"):
        said += " " + convert(case, price, currency, wanted[0])
    return said


def conversion(case):
    if not (case.has("convert_currency") and words.amounts(case.request)):
        return None
    amount, source = words.amounts(case.request)[0]
    target = next((c for c in words.currencies(case.request) if c != source), None)
    if target is None:
        target = next(iter(words.currencies(case.ask("Into which currency?"))), None)
    return convert(case, amount, source, target) if target else "Without the target currency I cannot convert it."


def convert(case, amount, source, target):
    found = case.call("convert_currency", **{"amount": amount, "from": source, "to": target})
    return (
        "That is %.2f %s." % (found.content["amount"], target)
        if found.ok
        else "It could not be converted to %s." % target
    )
