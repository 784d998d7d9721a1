from openai import OpenAI

client = OpenAI()


def reply(question: str) -> str:
    print("asked:", question)
    done = client.chat.completions.create(
        model="gpt-4o-mini",
        messages=[
            {"role": "system", "content": "You are a support agent. Answer in one sentence."},
            {"role": "user", "content": question},
        ],
    )
    return done.choices[0].message.content
