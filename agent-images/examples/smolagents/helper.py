from smolagents import OpenAIServerModel, ToolCallingAgent

model = OpenAIServerModel(model_id="gpt-4o-mini")
agent = ToolCallingAgent(tools=[], model=model, max_steps=4)
