// Two runs side by side: one trial that changed, before and now.
const PAIRS = INDEX.pairs;
const PAIR_KEYS = Object.keys(PAIRS);

async function drawPair(row) {
  const key = keyOf(row), [kind, baseKey, block, place] = PAIRS[key];
  const head = el("div", { class: "trial-head" },
    button("← Overview", backToOverview, { id: "back" }),
    say(el("h1", { id: "trial-title", tabindex: "-1" }), key),
    el("span", { class: "outcome" }, kind),
    el("span", { class: "spacer" }),
    el("a", { href: hrefOf(row) }, "this trial alone"),
    button("Previous (k)", () => openNeighbour(-1)), button("Next (j)", () => openNeighbour(1)));
  const body = el("div", {}, el("p", { class: "none" }, "Unpacking both transcripts."));
  byId("trial").replaceChildren(head, body);
  document.title = `${key} before and now · ${INDEX.run}`;
  let base = null, now = null, problem = "";
  try { [base, now] = await Promise.all([blockOf(`b${block}`).then((records) => records[place]), recordOf(row)]); } catch (error) { problem = String(error.message || error); }
  if (!body.isConnected) return;
  const sides = [side("Base", baseKey, base, row, "B", problem), side("This run", key, now, row, "L", problem)];
  body.replaceChildren(el("div", { class: "pair" }, ...sides));
  byId("trial-title").focus({ preventScroll: true });
}

function side(title, key, record, row, prefix, problem) {
  const head = el("h2", {}, title, " ", say(el("span", { class: "muted mono" }), key));
  if (!record) return el("div", {}, head, say(el("p", { class: "notice" }), missingNote(row, problem)));
  const href = (line) => `#pair=${inLink(keyOf(row))}&line=${prefix}${line}`;
  const verdict = record.v;
  const end = el("div", { class: `ending ${verdict.passed ? "pass" : "fail"}` }, mark(verdict.passed ? "pass" : "fail", false, verdict.passed ? "passed" : "failed"), " ", named(verdict.end), say(el("div", {}), verdict.reason));
  return el("div", {}, head, end, checksCard(verdict, href), conversation(record, row, prefix, href));
}
