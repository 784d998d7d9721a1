// The run's index (a compact row a trial), and transcripts, unpacked from their blocks when asked for.
const INDEX = JSON.parse(byId("index").textContent);
const CACHED = 8;
const cache = new Map();

// Rows as objects would take several times the memory and time: these name the columns instead.
const AGENT = 0, SCENARIO = 1, TRIAL = 2, MARK = 3, CRITICAL = 4, END = 5, WHY = 6, BLOCK = 7, PLACE = 8, WALL = 9, TOKENS = 10, COST = 11, STEPS = 12;
const ROWS = INDEX.rows;
const agentOf = (row) => INDEX.agents[row[AGENT]];
const scenarioOf = (row) => INDEX.scenarios[row[SCENARIO]];
const markOf = (row) => INDEX.marks[row[MARK]];
const textOf = (row, column) => INDEX.texts[row[column]];
const keyOf = (row) => `${agentOf(row)}/${scenarioOf(row)[0]}/${row[TRIAL]}`;
const inLink = (key) => encodeURIComponent(key).replace(/%2F/g, "/");
const hrefOf = (row, line) => `#trial=${inLink(keyOf(row))}${line ? `&line=${line}` : ""}`;
const NUMBER_OF = new Map(ROWS.map((row, i) => [keyOf(row), i]));

const whole = document.readyState === "loading"
  ? new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }))
  : Promise.resolve();

async function unpack(id) {
  let holder = byId(id);
  if (!holder || !holder.nextSibling) { await whole; holder = byId(id); }
  if (!holder) throw new Error(`the file has no block ${id}: it was cut off`);
  const bytes = Uint8Array.from(atob(holder.textContent), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

function blockOf(id) {
  const known = cache.get(id) || unpack(id);
  cache.delete(id);
  cache.set(id, known);
  if (cache.size > CACHED) cache.delete(cache.keys().next().value);
  return known;
}

// The whole record of a trial, or null where it is not in this file.
async function recordOf(row) {
  return row[BLOCK] < 0 ? null : (await blockOf(`c${row[BLOCK]}`))[row[PLACE]];
}

// Numbers of the rows whose transcript holds every one of `words` (lower case); `progress` hears the share done.
async function search(words, progress, stopped) {
  const byBlock = new Map();
  ROWS.forEach((row, i) => {
    if (row[BLOCK] >= 0) byBlock.set(row[BLOCK], [...(byBlock.get(row[BLOCK]) || []), i]);
  });
  const found = new Set();
  let done = 0;
  for (const [number, rows] of byBlock) {
    if (stopped()) return null;
    const records = await unpack(`c${number}`);
    for (const i of rows) {
      const text = JSON.stringify(records[ROWS[i][PLACE]]).toLowerCase();
      if (words.every((word) => text.includes(word))) found.add(i);
    }
    progress(++done / byBlock.size);
  }
  return found;
}
