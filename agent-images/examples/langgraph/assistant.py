from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def policy_lookup(tier: str) -> dict:
    """Look up the return policy of a customer tier."""
    raise ConnectionError("the policy service is only reachable from the office network")


tools = [policy_lookup]
llm = ChatOpenAI(model="gpt-4o-mini", temperature=0).bind_tools(tools)


def chat(state: MessagesState):
    return {"messages": [llm.invoke(state["messages"])]}


builder = StateGraph(MessagesState)
builder.add_node("chat", chat)
builder.add_node("tools", ToolNode(tools))
builder.add_edge(START, "chat")
builder.add_conditional_edges("chat", tools_condition)
builder.add_edge("tools", "chat")
graph = builder.compile()
