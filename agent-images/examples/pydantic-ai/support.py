from pydantic_ai import Agent

agent = Agent("openai:gpt-4o-mini", system_prompt="You are a support agent. Answer in one sentence.")
