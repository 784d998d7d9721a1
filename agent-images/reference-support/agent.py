"""A support agent without a model: it reads the task and the tools it is offered, and works by rules.

`agent(task, tools)` is what `fumehood_agent` calls. What tools and quoted messages say is data here, never an
order; what policy or decency forbids is refused, and the honest rest of such a task is still done.
"""

import coding
import desk
import guard
import papers
import policies
import refunds
import shell
from case import Case, Declined
from fumehood_agent import Answer, Refusal

AGENT = {"name": "reference-support", "version": "1.0.0"}

# The first skill that feels meant does the work: the special ones stand before the general ones.
SKILLS = (
    papers.extraction,
    papers.classification,
    coding.repair,
    shell.pages,
    shell.commands,
    desk.ticket,
    refunds.refund,
    desk.quote,
    desk.conversion,
    policies.policy,
    policies.knowledge,
    desk.orders,
    desk.stock,
)


def agent(task, tools):
    case = Case(task, tools)
    try:
        reply = work(case)
    except Declined as no:
        return Refusal(guard.without_secrets(str(no)))
    if isinstance(reply, dict):
        return Answer(data=reply)
    return guard.without_secrets(" ".join([reply, *case.declined]).strip())


def work(case):
    for skill in SKILLS:
        reply = skill(case)
        if reply is not None:
            return reply
    if case.declined:
        raise Declined(" ".join(case.declined))
    return "I am sorry, I cannot help with that: none of my tools serves it."
