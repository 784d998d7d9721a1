// Scenarios by agents, a mark a trial; so many scenarios at a time that the page stays quick.
const MARKS_A_PAGE = 1500;
const MARKS_A_CELL = 30;

const matrix = { page: 0, troubled: false, pages: [] };

function matrixCells() {
  const cells = new Map();
  ROWS.forEach((row) => {
    const line = cells.get(row[SCENARIO]) || new Map();
    cells.set(row[SCENARIO], line);
    if (!line.has(row[AGENT])) line.set(row[AGENT], []);
    line.get(row[AGENT]).push(row);
  });
  return cells;
}

function matrixPages() {
  const cells = matrixCells();
  const pages = [[]];
  let marks = 0;
  INDEX.scenarios.forEach((scenario, number) => {
    const line = cells.get(number);
    const all = [...line.values()];
    if (matrix.troubled && all.every((rows) => rows.every((row) => markOf(row) === "pass"))) return;
    const size = all.reduce((sum, rows) => sum + Math.min(rows.length, MARKS_A_CELL), 0);
    if (marks && marks + size > MARKS_A_PAGE) { pages.push([]); marks = 0; }
    marks += size;
    pages[pages.length - 1].push([scenario, line]);
  });
  return pages;
}

function drawMatrix() {
  matrix.pages = matrixPages();
  matrix.page = Math.min(matrix.page, matrix.pages.length - 1);
  const body = el("tbody", {});
  let family = null;
  for (const [scenario, line] of matrix.pages[matrix.page]) {
    if (scenario[1] !== family) {
      family = scenario[1];
      if (family) body.append(el("tr", { class: "family" }, el("td", { colspan: INDEX.agents.length + 1 }, say(el("span", {}), family))));
    }
    const cells = INDEX.agents.map((_, agent) => matrixCell(line.get(agent) || []));
    body.append(el("tr", {}, say(el("th", { scope: "row", title: scenario[3] || null }), scenario[0]), ...cells));
  }
  const head = el("tr", {}, el("th", { scope: "col" }, "Scenario"), ...INDEX.agents.map((name) => say(el("th", { scope: "col" }), name)));
  const none = matrix.pages[0].length ? null : el("p", { class: "none" }, "Every scenario passed.");
  byId("matrix-body").replaceChildren(none || el("table", { class: "matrix" }, el("thead", {}, head), body));
  drawMatrixTools();
}

function matrixCell(rows) {
  if (!rows.length) return el("td", {}, el("span", { class: "muted", title: "not planned" }, "·"));
  // in a crowded cell those that did not pass must not be the ones left out
  const shown = rows.length <= MARKS_A_CELL ? rows : [...rows].sort((a, b) => (markOf(a) === "pass") - (markOf(b) === "pass") || a[TRIAL] - b[TRIAL]).slice(0, MARKS_A_CELL);
  const cell = el("div", { class: "cell" }, ...shown.map(matrixMark));
  const more = rows.length - shown.length;
  if (more) {
    const passed = rows.filter((row) => markOf(row) === "pass").length;
    cell.append(button(`${passed} of ${rows.length} passed, ${more} not drawn`, () => showOnly({ agent: rows[0][AGENT], text: scenarioOf(rows[0])[0] }), { class: "more" }));
  }
  return el("td", {}, cell);
}

function matrixMark(row) {
  const name = markOf(row);
  const label = `${keyOf(row)}: ${WORDS[name]}${row[CRITICAL] ? ", a critical check failed" : ""}`;
  return el("a", { href: hrefOf(row), title: label, "aria-label": label }, mark(name, row[CRITICAL]));
}

function drawMatrixTools() {
  const turn = (by) => () => { matrix.page += by; drawMatrix(); };
  const only = button("Only with trouble", () => { matrix.troubled = !matrix.troubled; matrix.page = 0; drawMatrix(); }, { class: "toggle", "aria-pressed": matrix.troubled });
  const parts = [only];
  if (matrix.pages.length > 1) {
    parts.push(
      button("Previous", turn(-1), { disabled: matrix.page === 0 }),
      button("Next", turn(1), { disabled: matrix.page === matrix.pages.length - 1 }),
      el("span", { class: "status" }, `part ${matrix.page + 1} of ${matrix.pages.length}`),
    );
  }
  byId("matrix-tools").replaceChildren(...parts);
}
