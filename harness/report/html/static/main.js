// Routes (`#trial=agent/scenario/1&line=9`, `#pair=agent/scenario/1`), keys, theme, print.
const TITLE = document.title;
const view = { number: -1, paired: false, scrolled: 0 };
const TRIAL_ROUTE = /^#(trial|pair)=([^&]+)(?:&line=([BL]?\d+))?$/;

function route() {
  const found = TRIAL_ROUTE.exec(location.hash);
  const key = found ? decoded(found[2]) : "";
  const number = NUMBER_OF.get(key);
  if (number === undefined) { showOverview(); return; }
  const paired = found[1] === "pair" && Object.hasOwn(PAIRS, key);
  const same = number === view.number && paired === view.paired;
  if (view.number < 0) view.scrolled = scrollY;
  view.number = number;
  view.paired = paired;
  byId("overview").hidden = true;
  byId("trial").hidden = false;
  if (same) { tell(found[3]); return; }
  scrollTo(0, 0);
  if (paired) drawPair(ROWS[number]);
  else drawTrial(ROWS[number], found[3]);
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function showOverview() {
  const from = view.number;
  view.number = -1;
  byId("trial").hidden = true;
  byId("overview").hidden = false;
  document.title = TITLE;
  if (from < 0) return;
  byId("trial").replaceChildren();
  const target = location.hash.length > 1 ? byId(location.hash.slice(1)) : null;
  if (target) target.scrollIntoView(); else scrollTo(0, view.scrolled);
  const link = document.querySelector(`#overview a[data-row="${from}"]`);
  if (link) link.focus({ preventScroll: true });
}

// Without a hash the page would jump to its top: the overview is where it was left.
function backToOverview() {
  history.pushState(null, "", location.pathname + location.search);
  showOverview();
}

function openNeighbour(by) {
  if (view.paired) {
    const key = PAIR_KEYS[PAIR_KEYS.indexOf(keyOf(ROWS[view.number])) + by];
    if (key) location.hash = `#pair=${inLink(key)}`;
    return;
  }
  const here = list.shown.indexOf(view.number);
  const order = here < 0 ? ROWS.map((_, i) => i) : list.shown;
  const next = order[(here < 0 ? view.number : here) + by];
  if (next !== undefined) location.hash = hrefOf(ROWS[next]);
}

const KEYS = {
  j: () => (view.number < 0 ? moveInList(1) : openNeighbour(1)),
  k: () => (view.number < 0 ? moveInList(-1) : openNeighbour(-1)),
  "/": () => { if (view.number >= 0) backToOverview(); byId("search").focus(); byId("trials").scrollIntoView(); },
  t: switchTheme,
  "?": () => byId("help").showModal(),
  Escape: () => { if (view.number >= 0) backToOverview(); },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const inField = event.target.matches("input, select, textarea");
  if (inField && event.key !== "Escape") return;
  if (inField) { event.target.blur(); return; }
  const inList = event.target.matches("[data-row]");
  const key = inList && event.key === "ArrowDown" ? "j" : inList && event.key === "ArrowUp" ? "k" : event.key;
  if (!Object.hasOwn(KEYS, key)) return;
  event.preventDefault();
  KEYS[key]();
});

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("fumehood-theme", root.dataset.theme); } catch { /* a page from a file may have no storage */ }
}

try {
  const kept = localStorage.getItem("fumehood-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch { /* as above */ }

// On paper nothing can be unfolded.
const opened = [];
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) { each.open = true; opened.push(each); }
});
addEventListener("afterprint", () => { for (const each of opened.splice(0)) each.open = false; });

byId("theme").addEventListener("click", switchTheme);
byId("help-open").addEventListener("click", KEYS["?"]);
addEventListener("hashchange", route);
drawMatrix();
drawTrialsTools();
drawList();
route();
