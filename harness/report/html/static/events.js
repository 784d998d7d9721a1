// A transcript as a conversation: one entry an event, what was observed told apart from what is only reported.
const SOURCES = { observed: "observed", reported: "reported by the agent", harness: "harness" };

// Evidence is from outside: any field may be missing or of another type, and then shows as the JSON it is.
const field = (data, name) => (isRecord(data) ? data[name] : undefined);
const word = (value) => (value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value));
const given = (value) => value !== undefined && value !== null && value !== "" && !(isRecord(value) && !Object.keys(value).length) && !(Array.isArray(value) && !value.length);
const badge = (text, tone) => say(el("span", { class: `badge ${tone || ""}` }), text);
const named = (text) => say(el("span", { class: "name" }), word(text));
const role = (text) => say(el("div", { class: "role" }), text);

function eventItem([line, t, source, kind, data, cut], prefix, lineHref) {
  const shape = typeof data === "string" ? null : KINDS[kind];
  const look = shape ? shape(data) : { title: kind, body: [block(data)] };
  const top = el("div", { class: "top-line" }, say(el("span", { class: "kind" }), look.title), ...(look.beside || []), el("span", { class: "source" }, SOURCES[source] || "?"));
  const note = cut ? el("p", { class: "cut-note" }, `cut, ${count(cut)} more characters: the whole event is in the journal`) : null;
  return el("li", { class: `event ${SOURCES[source] ? source : ""} ${look.class || ""}`, id: `${prefix}${line}`, tabindex: "-1" },
    el("div", { class: "gutter" }, el("a", { href: lineHref(line), title: `journal line ${line}` }, `#${line}`), el("br", {}), ` ${(t / 1000).toFixed(2)}s`),
    el("div", { class: "body" }, top, ...(look.body || []).filter(Boolean), note));
}

const KINDS = {
  trial: (d) => ({
    title: "Trial", class: "quiet",
    beside: [say(el("span", {}), `attempt ${word(d.attempt)} in ${word(d.image)}`)],
    body: [details("set-up: policy, limits, budget, tools", block(d))],
  }),
  start: (d) => ({ title: "Container started", class: "quiet", beside: [named(d.container)] }),
  ready: (d) => ({
    title: "Ready", class: "quiet",
    beside: [named(field(d.agent, "name")), say(el("span", {}), [word(field(d.agent, "version")), word(field(d.agent, "framework")), word(field(d.agent, "model")), `protocol ${Array.isArray(d.protocol) ? d.protocol.map(word).join(", ") : word(d.protocol)}`].filter(Boolean).join(", "))],
    body: [given(d.capabilities) ? block(d.capabilities) : null],
  }),
  invoke: (d) => ({
    title: "Task", class: "from-user",
    body: [
      ...(Array.isArray(d.input) ? d.input.flatMap((turn) => [role(word(field(turn, "role"))), block(field(turn, "content"), true)]) : [block(d.input, true)]),
      given(d.context) ? details("context", block(d.context)) : null,
      given(d.tools) ? details(toolNames(d.tools), block(d.tools)) : el("p", { class: "muted" }, "no tools"),
    ],
  }),
  tool_call: (d) => ({
    title: "Tool call",
    beside: [named(d.name), badge(word(d.decision) || "?", d.decision === "allowed" ? "ok" : "bad")],
    body: [block(d.arguments), d.reason ? say(el("p", {}), word(d.reason)) : null],
  }),
  tool_result: (d) => ({
    title: "Tool result",
    beside: [named(d.name), badge(word(d.status) || "?", d.status === "ok" ? "ok" : "bad"), given(d.ms) ? el("span", { class: "muted" }, `${word(d.ms)} ms`) : ""],
    body: [d.reason ? say(el("p", {}), word(d.reason)) : null, given(d.content) ? block(d.content) : null],
  }),
  model_call: (d) => {
    const messages = field(d.request, "messages");
    const turns = Array.isArray(messages) ? messages : [];
    return {
      title: "Model call", beside: [named(field(d.request, "model")), badge(`${turns.length} message${turns.length === 1 ? "" : "s"}`, "soft")],
      body: [
        ...turns.slice(-1).flatMap(chatTurn),
        turns.length > 1 ? details(`${turns.length - 1} earlier`, ...turns.slice(0, -1).flatMap(chatTurn)) : null,
        details("whole request", block(d.request)),
      ],
    };
  },
  model_result: (d) => {
    const choices = field(d.response, "choices");
    const said = field(Array.isArray(choices) ? choices[0] : null, "message");
    const use = isRecord(d.usage) ? `${word(d.usage.input_tokens)} in, ${word(d.usage.output_tokens)} out, ${d.usage.cost_usd === null ? "cost not known" : `$${word(d.usage.cost_usd)}`}` : "";
    return {
      title: "Model answer", beside: [d.error ? badge("error", "bad") : "", say(el("span", { class: "muted" }), use)],
      body: [d.error ? block(d.error) : null, ...(said ? chatTurn(said) : []), d.error ? null : details("whole answer", block(d.response))],
    };
  },
  ask: (d) => ({ title: "Asks the user", body: [block(d.content, true)] }),
  answer: (d) => ({ title: "The user answers", class: "from-user", body: [block(d.content, true)] }),
  state: (d) => ({ title: "State", body: [block(d.snapshot)] }),
  note: (d) => ({ title: "Note", beside: [badge(word(d.level), d.level === "error" ? "bad" : "soft")], body: [block(d.text)] }),
  trajectory: (d) => ({
    title: "Final answer", beside: [badge(word(d.status) || "?", d.status === "failed" ? "bad" : "ok")],
    body: [
      given(field(d.output, "text")) ? block(d.output.text, true) : null,
      given(field(d.output, "data")) ? block(d.output.data) : null,
      given(d.error) ? block(d.error) : null,
      given(d.steps) ? details(`steps as the agent tells them (${count(d.steps.length || 0)})`, block(d.steps)) : null,
      given(d.usage) ? details("usage as the agent tells it", block(d.usage)) : null,
    ],
  }),
  stderr: (d) => ({
    title: "stderr", beside: [say(el("span", { class: "muted" }), `${word(d.total_bytes)} bytes${d.dropped_bytes ? `, ${word(d.dropped_bytes)} dropped: the end is kept` : ""}`)],
    body: [given(d.text) ? block(d.text) : null],
  }),
  write: (d) => ({
    title: d.allowed ? "Wrote outside scratch" : "Tried to write", class: d.allowed ? "warn" : "",
    beside: [named(d.path), say(el("span", { class: "muted" }), `${word(d.op)}, ${word(d.count)} times${d.errno ? `, errno ${word(d.errno)}` : ""}`)],
  }),
  workspace: (d) => ({
    title: "File left in the workspace",
    beside: [named(d.path), badge(word(d.change) || "?", "soft"), say(el("span", { class: "muted" }), `${word(d.size)} bytes`)],
    body: [
      given(d.left_out) ? say(el("p", {}), `not taken out: ${word(d.left_out)}`) : null,
      given(d.diff) ? block(d.diff) : null,
      d.diff_cut ? el("p", { class: "cut-note" }, "the diff is cut") : null,
    ],
  }),
  verify: (d) => ({
    title: "Hidden tests",
    beside: [given(d.skipped) ? badge("not run", "soft") : badge(d.timed_out ? "timed out" : `exit code ${word(d.exit_code)}`, d.exit_code === 0 && !d.timed_out ? "ok" : "bad")],
    body: [
      given(d.skipped) ? say(el("p", {}), word(d.skipped)) : null,
      given(d.stdout) ? block(d.stdout) : null,
      given(d.stderr) ? block(d.stderr) : null,
      details("image, command, files taken and not taken", block(d)),
    ],
  }),
  connect: (d) => ({ title: "Tried to reach the network", class: "warn", beside: [named(d.address), say(el("span", { class: "muted" }), `${word(d.count)} times`)] }),
  violation: (d) => ({ title: "Violation", class: "loud", beside: [named(d.rule), d.name ? named(d.name) : ""], body: [say(el("p", {}), word(d.reason))] }),
  finding: (d) => ({ title: "Finding", class: "warn", beside: [named(d.code)], body: [say(el("p", {}), word(d.reason))] }),
  cancel: (d) => ({ title: "Told to stop", beside: [badge(word(d.end), "bad")], body: [say(el("p", {}), word(d.reason)), given(d.detail) ? block(d.detail) : null] }),
  exit: (d) => ({
    title: "Exit", class: "quiet",
    beside: [say(el("span", {}), [`code ${word(d.code)}`, d.signal === null || d.signal === undefined ? "" : `signal ${word(d.signal)}`, d.oom_killed ? "killed for memory" : "", d.pids_limit_hit ? "process limit hit" : "", d.scratch_full ? "scratch full" : "", d.peak_memory_bytes > 0 ? `${(d.peak_memory_bytes / 1048576).toFixed(1)} MiB at most` : ""].filter(Boolean).join(", "))],
  }),
  end: (d) => ({
    title: "End", beside: [named(d.end), badge(`blame: ${word(d.blame)}`, "soft")],
    body: [say(el("p", {}), word(d.reason)), given(d.detail) ? block(d.detail) : null],
  }),
};

function chatTurn(turn) {
  const parts = [role(word(field(turn, "role")) || "?")];
  if (given(field(turn, "content"))) parts.push(block(turn.content, typeof turn.content === "string"));
  if (given(field(turn, "tool_calls"))) parts.push(block(turn.tool_calls));
  return parts;
}

function toolNames(tools) {
  const names = Array.isArray(tools) ? tools.map((tool) => word(field(tool, "name"))) : [];
  const text = names.slice(0, 12).join(", ");
  return say(el("span", {}), `${names.length} tool${names.length === 1 ? "" : "s"}: ${text}${names.length > 12 ? " …" : ""}`);
}
