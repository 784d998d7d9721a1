"""A refund: only within the policy, only once, only what was paid for the items."""

import words
from case import Declined
from desk import order_ids
from policies import standing


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
        raise Declined(
            "Order %s was refunded already (%s); a second refund is not possible."
            % (order_id, order.get("refund_id", ""))
        )
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
        raise Declined(
            "%.2f %s is more than the %.2f paid for it, so I cannot refund that." % (wanted[0], order["currency"], due)
        )
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
        return "Refund %s over %.2f %s for order %s is booked." % (
            done.content["refund_id"],
            amount,
            order["currency"],
            order_id,
        )
    if case.has("refund_status"):
        status = case.call("refund_status", order_id=order_id)
        if status.ok and status.content.get("booked"):
            return "Refund %s for order %s is booked; the bank's answer was just slow." % (
                status.content["refund_id"],
                order_id,
            )
    return (
        "The refund for order %s failed or its outcome is unknown; I did not try again, so that it is not paid twice."
        % order_id
    )
