"""A support agent that sounds well and does nothing: one fluent text for every task. Broken on purpose."""

AGENT = {"name": "silent-support", "version": "1.0.0"}

TEXT = (
    "Thank you for reaching out to Larkfield Outfitters. Your satisfaction is our first concern, and we have taken good note of "
    "your request. A colleague will look after it as soon as possible. Is there anything else we can do for you?"
)


def agent(task, tools):
    return TEXT
