// What an ACP agent says it does, as notes and states on the record; what it says last is its answer.
"use strict";

const MOST = 4000; // characters of a note

class Record {
  #task;
  #calls = new Map();
  #saying = { kind: "", id: null, text: "" };
  #last = "";

  constructor(task) {
    this.#task = task;
  }

  /** One `session/update`. */
  update(update) {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        return this.#say("message", update);
      case "agent_thought_chunk":
        return this.#say("thought", update);
      case "tool_call": {
        this.#pause();
        const { title, kind, rawInput } = this.merged(update);
        return this.#note("info", `${kind ?? "other"}: ${title}`, rawInput);
      }
      case "tool_call_update":
        return this.#progress(update);
      case "plan":
        this.#pause();
        return this.#task.state({ plan: update.entries });
      default: // commands, modes, usage: nothing is done
    }
  }

  /** A tool call with all that was said of it so far. */
  merged(update) {
    const known = this.#calls.get(update.toolCallId) ?? {};
    const said = Object.entries(update).filter(([, value]) => value != null);
    const call = { ...known, ...Object.fromEntries(said) };
    this.#calls.set(update.toolCallId, call);
    return call;
  }

  /** What the agent said last. */
  answer() {
    this.#pause();
    return this.#last;
  }

  #progress(update) {
    const before = this.#calls.get(update.toolCallId)?.status;
    const { title, status, rawOutput, content } = this.merged(update);
    if (status === before || !["completed", "failed"].includes(status)) return;
    const said = (content ?? []).map(shown).filter(Boolean).join("\n");
    this.#note(status === "failed" ? "warning" : "info", `${status}: ${title}`, said || rawOutput);
  }

  #say(kind, { content, messageId = null }) {
    if (kind !== this.#saying.kind || messageId !== this.#saying.id) this.#pause();
    const text = content?.type === "text" ? String(content.text) : `[${content?.type}]`;
    this.#saying = { kind, id: messageId, text: this.#saying.text + text };
  }

  /** Something else begins: what was being said is whole. */
  #pause() {
    const { kind, text } = this.#saying;
    this.#saying = { kind: "", id: null, text: "" };
    if (!text.trim()) return;
    if (kind === "thought") return this.#note("debug", "thought", text);
    if (this.#last) this.#note("info", "said", this.#last); // it was not the last
    this.#last = text;
  }

  #note(level, what, more) {
    const rest = more == null || more === "" ? "" : `: ${typeof more === "string" ? more : JSON.stringify(more)}`;
    this.#task.note(`${what}${rest}`.slice(0, MOST), level);
  }
}

/** A tool's content as text. */
function shown(part) {
  if (part?.type === "content") return part.content?.type === "text" ? part.content.text : `[${part.content?.type}]`;
  return part?.type === "diff" ? `[diff of ${part.path}]` : "";
}

module.exports = { Record };
