from typing import TypedDict

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt


class Desk(TypedDict):
    question: str
    attempts: int
    answer: str


llm = ChatOpenAI(model="gpt-4o-mini")


def clarify(state: Desk) -> dict:
    if "refund" not in state["question"].lower():
        return {}
    order = interrupt("Which order is it?")
    return {"question": f"{state['question']} The order is {order}."}


def answer(state: Desk) -> dict:
    said = llm.invoke(state["question"])
    return {"answer": said.content, "attempts": state["attempts"] + 1}


def enough(state: Desk) -> str:
    return END if state["answer"] or state["attempts"] >= 3 else "answer"


builder = StateGraph(Desk)
builder.add_node("clarify", clarify)
builder.add_node("answer", answer)
builder.add_edge(START, "clarify")
builder.add_edge("clarify", "answer")
builder.add_conditional_edges("answer", enough, ["answer", END])
app = builder.compile(checkpointer=InMemorySaver())
