"""What the shop's policies and its knowledge base say, for a tier or for the customer of an order."""

import re

import guard
import words
from case import Declined
from desk import UNTRUSTED

TOPICS = (
    ("warranty", r"warrant|guarantee"),
    ("late_delivery", r"\blate\b|delay"),
    ("returns", r"return|send\w* .{0,25}back|(give|bring|take)\w* .{0,25}back|refund"),
)


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
        facts = (
            "%s: %s" % (key.replace("_", " "), value)
            for key, value in found.content.items()
            if not UNTRUSTED.search(key)
        )
        return "Our policy says - %s." % ", ".join(facts)
    return (
        search(case, case.request) if case.has("kb_search") else "The policy service is unavailable, so I cannot say."
    )


def topic_of(case):
    allowed = case.choices("policy_lookup", "topic") if case.has("policy_lookup") else []
    return next((topic for topic, pattern in TOPICS if case.says(pattern) and topic in allowed), None)


def window_of(case, order_id, topic="returns"):
    order, tier, rules = standing(case, order_id, topic)
    if topic != "returns":
        return "For a %s customer: %s." % (
            tier,
            ", ".join("%s %s" % (k.replace("_", " "), v) for k, v in rules.items()),
        )
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
        raise Declined(
            "Order %s %s, so I cannot decide."
            % (order_id, "was not found" if order.missing else "could not be looked up")
        )
    customer = case.call("customer_lookup", email=order.content.get("customer_email"))
    if not customer.ok:
        raise Declined("The customer of order %s could not be looked up, so I cannot decide." % order_id)
    rules = case.call("policy_lookup", tier=customer.content["tier"], topic=topic)
    if not rules.ok:
        raise Declined("The policy could not be looked up, so I cannot decide.")
    return order.content, customer.content["tier"], rules.content


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
            score = len(wanted & words.stems(sentence + " " + article.get("title", ""))) + len(
                wanted & words.stems(sentence)
            )
            if score > best_score:
                best, best_score = "%s (%s)" % (sentence, article.get("id", "")), score
    return best or "The knowledge base says nothing about that."
