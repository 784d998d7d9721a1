// The list of trials: filter, search, order; a page of rows at a time.
const ROWS_A_PAGE = 100;
const ORDERS = {
  plan: ["as planned", null],
  wall: ["longest first", WALL],
  tokens: ["most tokens first", TOKENS],
  cost: ["costliest first", COST],
  steps: ["most steps first", STEPS],
};
const filter = { agent: -1, family: "", text: "", deep: false, order: "plan", marks: new Set(), inside: null };
const list = { shown: ROWS.map((_, i) => i), page: 0 };
const haystacks = [];
let searching = 0;

function haystack(i) {
  if (haystacks[i] === undefined) {
    const row = ROWS[i], [name, family, bucket] = scenarioOf(row);
    haystacks[i] = [keyOf(row), name, family, bucket, textOf(row, END), textOf(row, WHY)].join("\n").toLowerCase();
  }
  return haystacks[i];
}

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

function applyFilter() {
  const words = wordsOf(filter.text);
  list.shown = [];
  ROWS.forEach((row, i) => {
    if (filter.agent >= 0 && row[AGENT] !== filter.agent) return;
    if (filter.family && scenarioOf(row)[1] !== filter.family) return;
    if (filter.marks.size && !filter.marks.has(markOf(row))) return;
    if (words.length && !(filter.inside && filter.inside.has(i)) && !words.every((word) => haystack(i).includes(word))) return;
    list.shown.push(i);
  });
  const column = ORDERS[filter.order][1];
  if (column !== null) list.shown.sort((a, b) => ROWS[b][column] - ROWS[a][column] || a - b);
  list.page = 0;
  drawList();
}

function drawList() {
  const first = list.page * ROWS_A_PAGE;
  const rows = list.shown.slice(first, first + ROWS_A_PAGE).map(listRow);
  const head = el("div", { class: "row head", "aria-hidden": "true" }, el("span", {}), el("span", {}, "Trial"), el("span", {}, "Why"), ...["Wall", "Tokens", "Cost"].map((name) => el("span", { class: "num" }, name)));
  const box = rows.length ? el("div", { class: "list" }, head, ...rows) : el("p", { class: "none" }, "No trial fits.");
  const last = Math.max(0, Math.ceil(list.shown.length / ROWS_A_PAGE) - 1);
  const turn = (by) => () => { list.page += by; drawList(); byId("trials").scrollIntoView(); };
  const pager = last === 0 ? null : el("div", { class: "pager" },
    `${count(first + 1)}–${count(first + rows.length)} of ${count(list.shown.length)}`,
    button("Previous", turn(-1), { disabled: list.page === 0 }), button("Next", turn(1), { disabled: list.page === last }));
  byId("trials-body").replaceChildren(...[box, pager].filter(Boolean));
  byId("trials-status").textContent = `${count(list.shown.length)} of ${count(ROWS.length)} trials`;
}

function listRow(i) {
  const row = ROWS[i], name = markOf(row), why = textOf(row, WHY);
  return el("a", { class: "row", href: hrefOf(row), "data-row": i },
    mark(name, row[CRITICAL], WORDS[name]),
    el("span", { class: "name" }, say(el("span", { class: "agent" }), `${agentOf(row)}/`), say(el("span", {}), `${scenarioOf(row)[0]}/${row[TRIAL]}`)),
    say(el("span", { class: "why", title: why || null }), why),
    el("span", { class: "num optional" }, name === "missing" ? "" : millis(row[WALL])),
    el("span", { class: "num optional" }, row[TOKENS] ? count(row[TOKENS]) : "–"),
    el("span", { class: "num optional" }, row[COST] ? usd(row[COST]) : "–"));
}

function drawTrialsTools() {
  const choose = (label, options, pick) => {
    const made = el("select", { "aria-label": label }, ...options.map(([value, text]) => say(el("option", { value }), text)));
    made.addEventListener("change", () => { pick(made.value); applyFilter(); });
    return made;
  };
  const families = [...new Set(INDEX.scenarios.map((scenario) => scenario[1]))].filter(Boolean).sort();
  const there = INDEX.marks.filter((name, number) => ROWS.some((row) => row[MARK] === number));
  const input = el("input", { type: "search", id: "search", placeholder: "Search names, ends and reasons ( / )", "aria-label": "Search the trials" });
  input.addEventListener("input", () => { filter.text = input.value; filter.inside = null; applyFilter(); if (filter.deep) later(); });
  const deep = el("input", { type: "checkbox", id: "deep" });
  deep.addEventListener("change", () => { filter.deep = deep.checked; filter.inside = null; applyFilter(); if (filter.deep) later(); });
  byId("trials-tools").replaceChildren(
    el("span", { class: "grow" }, input),
    el("label", {}, deep, "in transcripts too"),
    choose("Agent", [[-1, "all agents"], ...INDEX.agents.map((name, i) => [i, name])], (value) => { filter.agent = Number(value); }),
    choose("Family", [["", "all families"], ...families.map((name) => [name, name])], (value) => { filter.family = value; }),
    choose("Order", Object.entries(ORDERS).map(([value, [text]]) => [value, text]), (value) => { filter.order = value; }),
    ...there.map(markToggle),
    el("span", { class: "status", id: "trials-status", role: "status" }),
  );
}

function markToggle(name) {
  const made = button("", () => {
    if (!filter.marks.delete(name)) filter.marks.add(name);
    made.setAttribute("aria-pressed", String(filter.marks.has(name)));
    applyFilter();
  }, { class: "toggle", "aria-pressed": "false", "data-mark": name });
  made.append(mark(name), WORDS[name]);
  return made;
}

// A search in transcripts unpacks them all: wait until the typing stops.
function later() {
  const mine = ++searching, words = wordsOf(filter.text);
  setTimeout(async () => {
    if (mine !== searching || !words.length) return;
    const status = byId("trials-status");
    const found = await search(words, (share) => { status.textContent = `searching transcripts, ${Math.round(share * 100)} %`; }, () => mine !== searching);
    if (found && mine === searching) { filter.inside = found; applyFilter(); }
  }, 350);
}

// Called from elsewhere in the page: the list with just this, in sight.
function showOnly({ agent, text }) {
  filter.agent = agent;
  filter.text = text;
  filter.inside = null;
  byId("search").value = text;
  byId("trials-tools").querySelector("select").value = String(agent);
  applyFilter();
  byId("trials").scrollIntoView();
}

// j and k: the next or previous row gets the focus, over page ends too.
function moveInList(by) {
  const at = Number(document.activeElement && document.activeElement.getAttribute("data-row"));
  const here = document.activeElement && document.activeElement.hasAttribute("data-row") ? list.shown.indexOf(at) : -1;
  const next = here < 0 ? list.page * ROWS_A_PAGE : here + by;
  if (next < 0 || next >= list.shown.length) return;
  const page = Math.floor(next / ROWS_A_PAGE);
  if (page !== list.page) { list.page = page; drawList(); }
  const row = byId("trials-body").querySelector(`[data-row="${list.shown[next]}"]`);
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}
