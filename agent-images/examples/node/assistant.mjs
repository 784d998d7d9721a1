import OpenAI from "openai";

const client = new OpenAI();

export async function answer(question) {
  console.log("asked:", question);
  const done = await client.chat.completions.create({
    model: "gpt-4o-mini",
    messages: [{ role: "user", content: question }],
  });
  return done.choices[0].message.content;
}
