// One trial: how it ended, its checks and budgets beside its transcript.
const BUDGETS = [
  ["steps", "max_steps", "steps", count], ["tool calls", "max_tool_calls", "tool_calls", count], ["model calls", "max_model_calls", "model_calls", count],
  ["questions", "max_asks", "asks", count], ["tokens", "max_tokens", "tokens", count], ["cost", "max_cost_usd", "cost_usd", usd],
  ["wall time", "max_duration_ms", "wall_ms", millis],
];
const STATUS_MARKS = { pass: "pass", fail: "fail", not_scored: "unscored", not_applicable: "missing" };
const STATUS_WORDS = { pass: "passed", fail: "failed", not_scored: "not scored", not_applicable: "not applicable" };

async function drawTrial(row, line) {
  const name = markOf(row), [scenario, family, bucket, goal] = scenarioOf(row);
  const head = el("div", { class: "trial-head" },
    button("← Overview", backToOverview, { id: "back" }),
    say(el("h1", { id: "trial-title", tabindex: "-1" }), keyOf(row)),
    el("span", { class: "outcome" }, mark(name, row[CRITICAL]), `${WORDS[name]}${row[CRITICAL] ? ", critical" : ""}`),
    el("span", { class: "muted" }, [family, bucket].filter(Boolean).join(" · ")),
    el("span", { class: "spacer" }),
    Object.hasOwn(PAIRS, keyOf(row)) ? el("a", { href: `#pair=${inLink(keyOf(row))}` }, "beside its base") : null,
    button("Previous (k)", () => openNeighbour(-1)), button("Next (j)", () => openNeighbour(1)));
  const ending = el("div", { class: `ending ${name}` });
  const body = el("div", {}, el("p", { class: "none" }, "Unpacking the transcript."));
  const parts = [head, goal ? say(el("p", { class: "muted" }), `Goal: ${goal}`) : null, ending, body];
  byId("trial").replaceChildren(...parts.filter(Boolean));
  document.title = `${keyOf(row)} · ${INDEX.run}`;
  let record = null, problem = "";
  try { record = await recordOf(row); } catch (error) { problem = String(error.message || error); }
  if (!body.isConnected) return;
  if (!record) {
    say(ending, textOf(row, WHY) || WORDS[name]);
    body.replaceChildren(say(el("p", { class: "notice" }), missingNote(row, problem)));
    return;
  }
  const verdict = record.v;
  ending.append(named(verdict.end), " ", badge(`blame: ${verdict.blame}`, "soft"), verdict.attempt > 1 ? badge(`attempt ${verdict.attempt}`, "soft") : "", say(el("div", {}), verdict.reason));
  const href = (n) => hrefOf(row, n);
  body.replaceChildren(el("div", { class: "two" }, conversation(record, row, "L", href), el("aside", { class: "side", "aria-label": "Checks and budgets" }, checksCard(verdict, href), budgetCard(record))));
  byId("trial-title").focus({ preventScroll: true });
  tell(line);
}

function missingNote(row, problem) {
  if (problem) return `The transcript cannot be unpacked: ${problem}`;
  if (markOf(row) === "missing") return `This trial has not been run: fumehood run --resume ${INDEX.run}${INDEX.store} runs it.`;
  return `The transcript of this trial is not in this file, which would be too large with all of them. ${command(row)} has it.`;
}

const command = (row) => `fumehood runs show ${INDEX.run} ${keyOf(row)}${INDEX.store}`;

function conversation(record, row, prefix, href) {
  const items = record.e.map((event) => eventItem(event, prefix, href));
  const notes = [];
  if (record.skipped) notes.push(`${count(record.skipped)} events of this trial are left out.`);
  if (record.chars) notes.push(`cut, ${count(record.chars)} more characters; ${command(row)} has all.`);
  return el("div", {},
    record.broken ? say(el("p", { class: "notice" }), `The journal cannot be read whole: ${record.broken}`) : null,
    notes.length ? say(el("p", { class: "notice" }), notes.join(" ")) : null,
    el("ol", { class: "talk", "aria-label": "Transcript" }, ...items));
}

function checksCard(verdict, href) {
  const rank = { fail: 0, not_scored: 1, pass: 2, not_applicable: 3 };
  const checks = [...verdict.checks].sort((a, b) => rank[a.status] - rank[b.status]);
  const items = checks.map((check) => el("li", { class: check.status === "fail" || check.status === "not_scored" ? null : "passing" },
    el("div", { class: "what" }, mark(STATUS_MARKS[check.status] || "missing", false, STATUS_WORDS[check.status]), say(el("span", { class: "mono" }), check.check), el("span", { class: `severity ${check.severity}` }, check.severity), el("span", { class: "muted" }, check.property.replace("_", " "))),
    say(el("div", { class: "said" }), check.reason),
    given(check.threshold) || given(check.value) ? el("div", { class: "said" }, [given(check.value) ? `value ${check.value}` : "", given(check.threshold) ? `threshold ${check.threshold}` : ""].filter(Boolean).join(", ")) : null,
    evidenceLinks(check.evidence || [], href),
    check.judged ? judgement(check.judged, href) : null));
  return el("div", { class: "card" }, el("h2", {}, "Checks"), items.length ? el("ul", { class: "verdicts" }, ...items) : el("p", { class: "none" }, "Not scored: no check was asked."));
}

function evidenceLinks(lines, href) {
  if (!lines.length) return null;
  const links = lines.slice(0, 24).map((line) => el("a", { href: href(line) }, `#${line}`));
  return el("div", { class: "lines" }, ...links, lines.length > 24 ? `and ${lines.length - 24} more` : "");
}

function judgement(judged, href) {
  const head = say(el("div", { class: "votes" }), `judge ${judged.model}, ${judged.samples} samples, agreement ${Math.floor(judged.agreement * 100)} %`);
  return el("div", {}, head, ...judged.criteria.map((one) => el("div", { class: "criterion" },
    el("div", {}, mark(one.met === true ? "pass" : one.met === false ? "fail" : "unscored", false, one.met === true ? "met" : one.met === false ? "not met" : "no majority"), " ", say(el("span", {}), one.criterion)),
    el("div", { class: "votes" }, `yes ${one.yes || 0}, no ${one.no || 0}, unclear ${one.unclear || 0}, unread ${one.unread || 0}`),
    one.quote ? say(el("blockquote", { dir: "auto" }), one.quote) : null,
    one.line ? el("div", { class: "lines" }, el("a", { href: href(one.line) }, `#${one.line}`)) : null,
    one.reason ? say(el("div", { class: "said" }), one.reason) : null)));
}

function budgetCard(record) {
  const data = (kind) => { const found = record.e.find((event) => event[3] === kind); return found && isRecord(found[4]) ? found[4] : {}; };
  const setup = data("trial"), end = data("end");
  const budget = isRecord(setup.budget) ? setup.budget : {}, limits = isRecord(setup.limits) ? setup.limits : {}, use = record.v.usage;
  const meters = BUDGETS.map(([label, limit, used, words]) => meter(label, use[used], budget[limit], words, used === "cost_usd" && !use.cost_known));
  const retries = isRecord(end.retries) ? Object.entries(end.retries) : [];
  meters.push(...retries.map(([tool, n]) => meter(`retries of ${tool}`, n, budget.max_retries_per_tool, count)));
  if (use.peak_memory_bytes >= 0) meters.push(meter("memory", use.peak_memory_bytes, limits.memory_bytes, (n) => `${(n / 1048576).toFixed(1)} MiB`));
  return el("div", { class: "card" }, el("h2", {}, "Used of its budget"), ...meters, el("p", { class: "muted" }, `start-up took ${millis(use.startup_ms)}, not charged; stdout ${count(use.stdout_bytes)} and stderr ${count(use.stderr_bytes)} bytes`));
}

function meter(label, used, limit, words, atLeast) {
  const limited = typeof limit === "number";
  const over = limited && used > limit;
  const share = !limited ? 0 : limit === 0 ? (used ? 100 : 0) : Math.min(100, (100 * used) / limit);
  const text = `${atLeast ? "at least " : ""}${words(used)}${limited ? ` / ${words(limit)}` : ""}`;
  return el("div", { class: `meter${over ? " over" : ""}` }, say(el("span", {}), label), el("span", { class: "num" }, text),
    limited ? svg("svg", { width: "100%", height: 5, "aria-hidden": "true" }, svg("rect", { width: `${share}%`, height: 5 })) : null);
}

// Point at a line of the transcript.
function tell(line) {
  for (const old of document.querySelectorAll(".event.told")) old.classList.remove("told");
  const found = line ? byId(/^\d/.test(line) ? `L${line}` : line) : null;
  if (!found) return;
  found.classList.add("told");
  found.scrollIntoView({ block: "center" });
  found.focus({ preventScroll: true });
}
