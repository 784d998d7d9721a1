// Elements are made here and only here: attributes by name, text as text. Nothing in this page parses markup.
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === false || value === null || value === undefined) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

function button(label, act, attributes) {
  const made = el("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
}

// One of the page's six shapes, told apart without colour; `label` where no text beside it says the same.
function mark(name, critical, label) {
  const made = svg("svg", { class: `mark ${name}${critical ? " critical" : ""}` }, svg("use", { href: `#m-${name}` }));
  if (label) { made.setAttribute("role", "img"); made.setAttribute("aria-label", label); }
  else made.setAttribute("aria-hidden", "true");
  return made;
}

const WORDS = { pass: "passed", fail: "failed", friction: "friction", inconclusive: "inconclusive", unscored: "not scored", missing: "not run" };
const count = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function millis(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}
const usd = (value) => (value < 0 ? "?" : value === 0 || value >= 1 ? `$${value.toFixed(2)}` : `$${value.toPrecision(3)}`);
