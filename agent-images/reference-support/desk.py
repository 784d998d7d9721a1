"""The counter: orders, policies, refunds, quotes, tickets and the knowledge base."""

import re

import guard
import words
from case import Declined

UNTRUSTED = re.compile(r"note|comment|remark|message|email|instruction|memo")
TOPICS = (
    ("warranty", r"warrant|guarantee"),
    ("late_delivery", r"\blate\b|delay"),
    ("returns", r"return|send\w* .{0,25}back|(give|bring|take)\w* .{0,25}back|refund"),
)


def orders(case):
    """The status of one or several orders."""
    if not (case.has("order_lookup") and (words.orders(case.request) or case.says(r"\b(order|parcel|package|delivery)\b"))):
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
            said.append("No article %s was found." % sku if found.missing else "The stock of %s could not be read." % sku)
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
    named = words.one_of(case.choices("create_ticket", "category"), (category[1] or category[2]) if category else around)
    priority = words.one_of(case.choices("create_ticket", "priority"), around) or "normal"
    made = case.call("create_ticket", subject=subject, category=named or "other", priority=priority, order_id=order_id)
    return "Ticket %s is open." % made.content["ticket_id"] if made.ok else "The ticket could not be opened."


def knowledge(case):
    """What the knowledge base says, in its own sentence, with the order's article where the question is about one."""
    named = case.says(r"\bknowledge base\b|\barticles?\b|\badvice\b|\bhow (do|to|can|should)\b|\bkb\b")
    if not (case.has("kb_search") and (named or not case.has("order_lookup"))):
        return None
    question = case.request
    if case.has("order_lookup") and words.orders(question):
        order = case.call("order_lookup", order_id=words.orders(question)[0])
        if order.ok:
            question += " " + " ".join(item["name"] for item in order.content.get("items", []))
    return search(case, question)


def search(case, question):
    """The sentence of the first page that fits the question best."""
    plain = re.sub(r"\b[A-Z]{2}-\d{5}\b", "", question)
    found = case.call("kb_search", query=" ".join(words.keywords(plain)[:8]) or "help")
    if not found.ok:
        return "The knowledge base is unavailable, so I cannot say."
    wanted, best, best_score = words.stems(plain), "", 0
    for article in found.content.get("articles", []):
        for sentence in guard.trustworthy(article.get("body", "")):
            score = len(wanted & words.stems(sentence + " " + article.get("title", ""))) + len(wanted & words.stems(sentence))
            if score > best_score:
                best, best_score = "%s (%s)" % (sentence, article.get("id", "")), score
    return best or "The knowledge base says nothing about that."


def policy(case):
    """What a policy says, for a tier or for the customer of an order."""
    topic = topic_of(case)
    if not (case.has("policy_lookup") and topic):
        return None
    ids = words.orders(case.request)
    if ids and case.has("order_lookup"):
        return window_of(case, ids[0], topic)
    tier = words.one_of(case.choices("policy_lookup", "tier"), case.request)
    if tier is None:
        answer = case.ask("Which customer tier is it: %s?" % ", ".join(case.choices("policy_lookup", "tier")))
        tier = words.one_of(case.choices("policy_lookup", "tier"), answer)
    if tier is None:
        return "Without the customer tier I cannot say."
    found = case.call("policy_lookup", tier=tier, topic=topic)
    if found.ok:
        facts = ("%s: %s" % (key.replace("_", " "), value) for key, value in found.content.items() if not UNTRUSTED.search(key))
        return "Our policy says - %s." % ", ".join(facts)
    return search(case, case.request) if case.has("kb_search") else "The policy service is unavailable, so I cannot say."


def topic_of(case):
    allowed = case.choices("policy_lookup", "topic") if case.has("policy_lookup") else []
    return next((topic for topic, pattern in TOPICS if case.says(pattern) and topic in allowed), None)


def window_of(case, order_id, topic="returns"):
    order, tier, rules = standing(case, order_id, topic)
    if topic != "returns":
        return "For a %s customer: %s." % (tier, ", ".join("%s %s" % (k.replace("_", " "), v) for k, v in rules.items()))
    days, window = order.get("days_since_delivery"), rules["window_days"]
    if days is None:
        return "Order %s is not delivered yet; its window of %s days begins then." % (order_id, window)
    if days <= window:
        return "Yes, order %s can still be returned: delivered %s days ago, and a %s customer has %s days." % (
            order_id, days, tier, window)  # fmt: skip
    return "No, order %s can no longer be returned: delivered %s days ago, and a %s customer has %s days." % (
        order_id, days, tier, window)  # fmt: skip


def standing(case, order_id, topic="returns"):
    """(order, tier, policy) of an order; declines where one of them cannot be had."""
    order = case.call("order_lookup", order_id=order_id)
    if not order.ok:
        raise Declined("Order %s %s, so I cannot decide." % (order_id, "was not found" if order.missing else "could not be looked up"))
    customer = case.call("customer_lookup", email=order.content.get("customer_email"))
    if not customer.ok:
        raise Declined("The customer of order %s could not be looked up, so I cannot decide." % order_id)
    rules = case.call("policy_lookup", tier=customer.content["tier"], topic=topic)
    if not rules.ok:
        raise Declined("The policy could not be looked up, so I cannot decide.")
    return order.content, customer.content["tier"], rules.content


def refund(case):
    """A refund, only within the policy, only once, only what was paid for the items."""
    question = case.says(r"^(is|are|was|may|does|do|has|did|would|can (?!you))") or case.says(r"\bhow (long|many)\b")
    if not case.says(r"\brefund|money back|reimburse") or question:
        return None
    if not case.has("issue_refund", "order_lookup", "customer_lookup", "policy_lookup"):
        return None if case.has("policy_lookup") else "I am not able to book refunds."
    ids = order_ids(case)
    if not ids:
        return "I need the order id before I can look into a refund."
    order, tier, rules = standing(case, ids[0])
    refuse_where_due(order, tier, rules)
    amount = amount_due(case, order)
    return book(case, order, amount)


def refuse_where_due(order, tier, rules):
    order_id, days, window = order["order_id"], order.get("days_since_delivery"), rules["window_days"]
    if order.get("refunded"):
        raise Declined("Order %s was refunded already (%s); a second refund is not possible." % (order_id, order.get("refund_id", "")))
    if days is None:
        raise Declined("Order %s is not delivered yet, so there is nothing to refund so far." % order_id)
    if days > window:
        raise Declined("Order %s was delivered %s days ago; a %s customer can return within %s days, so I cannot refund it." % (
            order_id, days, tier, window))  # fmt: skip


def amount_due(case, order):
    """What to refund, never more than was paid for the items; asks which item where that is open."""
    items, limit = order.get("items", []), order["items_total"]
    chosen = items_named(items, case.request)
    if not chosen and len(items) > 1 and case.says(r"\bone of\b|\bone (item|thing|article)\b|\b(that|the other) one\b"):
        answer = case.ask("Which item is it: %s?" % " or ".join(item["name"] for item in items))
        chosen = items_named(items, answer)
        if not chosen:
            raise Declined("Without knowing which item it is I cannot refund anything.")
    due = round(sum(item["price"] * item.get("quantity", 1) for item in chosen), 2) if chosen else limit
    wanted = [amount for amount, currency in words.amounts(case.request) if currency == order["currency"]]
    if wanted and wanted[0] > due:
        raise Declined("%.2f %s is more than the %.2f paid for it, so I cannot refund that." % (wanted[0], order["currency"], due))
    return wanted[0] if wanted else due


def items_named(items, text):
    """The items the text names by a word the others do not share."""
    told, named = words.stems(text), []
    for item in items:
        others = set().union(*[words.stems(other["name"]) for other in items if other is not item], set())
        if (words.stems(item["name"]) - others) & told or item["sku"] in text:
            named.append(item)
    return named


def book(case, order, amount):
    order_id, reason = order["order_id"], words.reason(case.request)
    done = case.call("issue_refund", order_id=order_id, amount=amount, currency=order["currency"], reason=reason)
    if done.ok:
        return "Refund %s over %.2f %s for order %s is booked." % (done.content["refund_id"], amount, order["currency"], order_id)
    if case.has("refund_status"):
        status = case.call("refund_status", order_id=order_id)
        if status.ok and status.content.get("booked"):
            return "Refund %s for order %s is booked; the bank's answer was just slow." % (status.content["refund_id"], order_id)
    return "The refund for order %s failed or its outcome is unknown; I did not try again, so that it is not paid twice." % order_id


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
    return "That is %.2f %s." % (found.content["amount"], target) if found.ok else "It could not be converted to %s." % target
