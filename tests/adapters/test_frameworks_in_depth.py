"""What frameworks can do beyond the examples: tools of their own by a scenario's name, made answers, factories."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from harness.app.images import build
from harness.domain.ids import TrialKey
from tests.e2e.rig import events, fumehood, last, write_pack
from tests.images.adapters import EXAMPLES, LIMITS

pytestmark = pytest.mark.engine

LOOKUP = {
    "description": "Look up",
    "input_schema": {"type": "object", "properties": {"tier": {"type": "string"}}, "required": ["tier"]},
    "replies": [{"return": {"days": 60}}],
}
CALL = {"tool_calls": [{"name": "policy_lookup", "arguments": {"tier": "premium"}}], "times": 1}


@dataclass(frozen=True)
class Case:
    """An agent that stands on an example's packages, the model's last turn, and the answer it must come to."""

    example: str
    entry: str
    code: str
    turns: tuple[dict[str, Any], ...]
    answer: dict[str, Any]


CASES = {
    "langgraph-factory-with-tools": Case(
        "langgraph",
        "graph",
        """
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

async def graph(tools):
    llm = ChatOpenAI(model="gpt-4o").bind_tools(tools)

    async def chat(state: MessagesState):
        return {"messages": [await llm.ainvoke(state["messages"])]}

    made = StateGraph(MessagesState)
    made.add_node("chat", chat)
    made.add_node("tools", ToolNode(tools))
    made.add_edge(START, "chat")
    made.add_conditional_edges("chat", tools_condition)
    made.add_edge("tools", "chat")
    return made
""",
        (CALL, {"content": "60 days"}),
        {"text": "60 days"},
    ),
    "langgraph-own-tool-that-sees-the-state": Case(
        "langgraph",
        "graph",
        """
from typing import Annotated

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode, tools_condition

@tool
def policy_lookup(tier: str, state: Annotated[dict, InjectedState]) -> str:
    'Look up.'
    raise RuntimeError("only in the office")

def chat(state: MessagesState):
    return {"messages": [ChatOpenAI(model="gpt-4o").bind_tools([policy_lookup]).invoke(state["messages"])]}

graph = StateGraph(MessagesState)
graph.add_node("chat", chat)
graph.add_node("tools", ToolNode([policy_lookup]))
graph.add_edge(START, "chat")
graph.add_conditional_edges("chat", tools_condition)
graph.add_edge("tools", "chat")
""",
        (CALL, {"content": "60 days"}),
        {"text": "60 days"},
    ),
    "pydantic-ai-own-tool-and-typed-answer": Case(
        "pydantic-ai",
        "agent",
        """
from pydantic import BaseModel
from pydantic_ai import Agent

class Policy(BaseModel):
    days: int

agent = Agent("openai-chat:gpt-4o", output_type=Policy)

@agent.tool_plain
def policy_lookup(tier: str) -> str:
    raise RuntimeError("only in the office")
""",
        (CALL, {"tool_calls": [{"name": "final_result", "arguments": {"days": 60}}]}),
        {"data": {"days": 60}},
    ),
    "openai-agents-own-tool-and-typed-answer": Case(
        "openai-agents",
        "agent",
        """
from agents import Agent, function_tool
from pydantic import BaseModel

class Policy(BaseModel):
    days: int

@function_tool
def policy_lookup(tier: str) -> str:
    raise RuntimeError("only in the office")

agent = Agent(name="Desk", tools=[policy_lookup], output_type=Policy, model="gpt-4o")
""",
        (CALL, {"content": '{"days": 60}'}),
        {"data": {"days": 60}},
    ),
    "smolagents-code-and-own-tool": Case(
        "smolagents",
        "agent",
        '''
from smolagents import CodeAgent, OpenAIServerModel, tool

@tool
def policy_lookup(tier: str) -> str:
    """Look up.

    Args:
        tier: premium or basic
    """
    raise RuntimeError("only in the office")

def agent():
    return CodeAgent(tools=[policy_lookup], model=OpenAIServerModel(model_id="gpt-4o"))
''',
        ({"content": 'Thought: look.\n<code>\nfinal_answer(policy_lookup(tier="premium"))\n</code>'},),
        {"text": '{"days": 60}'},
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_scenarios_tool_takes_the_place_of_the_agents_own(name: str, tmp_path: Path) -> None:
    case, folder = CASES[name], tmp_path / name
    folder.mkdir()
    for file in (EXAMPLES / case.example).glob("requirements.txt"):
        (folder / file.name).write_bytes(file.read_bytes())
    like = YAML(typ="safe").load((EXAMPLES / case.example / "agent.yaml").read_text())
    manifest = {**like, "name": f"test-{name}", "entry": f"desk:{case.entry}"}
    (folder / "agent.yaml").write_bytes(msgspec.json.encode(manifest))  # JSON is YAML
    (folder / "desk.py").write_text(case.code)
    scenario = {"id": "look", "input": "How long?", "allowed_tools": ["policy_lookup"]}
    scenario |= {"replies": {"model": list(case.turns)}, "checks": [{"check": "tool_called", "tool": "policy_lookup"}]}
    pack = write_pack(tmp_path, scenario, tools={"policy_lookup": LOOKUP})
    build(folder)
    done = fumehood("run", pack, "--agent", folder, *LIMITS, "--store", tmp_path / "store")
    key = TrialKey(name, "look", 1)
    (end,) = events(last(tmp_path / "store"), key, "trajectory")
    assert {kind: value for kind, value in end["output"].items() if value is not None} == case.answer, end
    assert done.returncode == 0, done.stdout
