from fastapi import FastAPI
from openai import OpenAI
from pydantic import BaseModel

app = FastAPI()
client = OpenAI()
history: dict[str, list] = {}


class Message(BaseModel):
    user: str
    message: str


@app.get("/health")
def health():
    return {"ok": True}


@app.post("/chat")
def chat(message: Message):
    turns = history.setdefault(message.user, [])
    turns.append({"role": "user", "content": message.message})
    done = client.chat.completions.create(model="gpt-4o-mini", messages=turns)
    text = done.choices[0].message.content
    turns.append({"role": "assistant", "content": text})
    return {"reply": {"text": text}, "turns": len(turns)}


@app.post("/reset")
def reset():
    history.clear()
    return {"ok": True}
