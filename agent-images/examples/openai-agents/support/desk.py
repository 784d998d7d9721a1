from agents import Agent

agent = Agent(name="Support desk", instructions="Answer in one sentence.", model="gpt-4o-mini")
