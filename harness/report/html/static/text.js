// Text from outside: what would hide, reorder or break it is shown by its number, and a redaction as a chip.
const ODD = /\[redacted:([A-Za-z0-9._-]{1,100})\]|\[\*\*\*\]|\udb40[\udc00-\udfff]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const MAX_CHIPS = 400;
const FOLD_LINES = 12;
const FOLD_CHARS = 900;

function say(parent, text) {
  let at = 0, chips = 0;
  for (const found of text.matchAll(ODD)) {
    if (found[0] === "\r" && text[found.index + 1] === "\n") { parent.append(text.slice(at, found.index)); at = found.index + 1; continue; }
    if (++chips > MAX_CHIPS) break;
    parent.append(text.slice(at, found.index), chip(found));
    at = found.index + found[0].length;
  }
  // past so many the rest is no longer worth an element each, but must stay as inert
  parent.append(chips > MAX_CHIPS ? text.slice(at).replace(ODD, (odd) => (odd[0] === "[" ? odd : code(odd))) : text.slice(at));
  return parent;
}

function chip(found) {
  if (found[0][0] === "[") {
    const what = found[1] || "secret";
    return el("span", { class: "redacted", title: "Masked before it was stored" }, `redacted ${what}`);
  }
  return el("span", { class: "odd", title: "A character that would not be seen, shown by its number" }, code(found[0]));
}

const code = (odd) => `U+${odd.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// A JSON value as text: a string as it is, small things on one line.
function plain(value) {
  if (typeof value === "string") return value;
  const flat = JSON.stringify(value);
  if (flat === undefined) return "";
  return flat.length <= 90 ? spaced(flat) : JSON.stringify(value, null, 2);
}

// Spaces after commas and colons, outside strings.
const spaced = (flat) => flat.replace(/"(?:[^"\\]|\\.)*"|[,:]/g, (part) => (part === "," || part === ":" ? `${part} ` : part));

// A block of text, folded where it is long; `prose` for what is written to be read.
function block(value, prose) {
  const text = plain(value);
  const body = say(el(prose ? "div" : "pre", { class: "text", dir: "auto" }), text);
  const lines = text.split("\n").length;
  if (lines <= FOLD_LINES && text.length <= FOLD_CHARS) return body;
  body.classList.add("folded");
  const size = lines > FOLD_LINES ? `${count(lines)} lines` : `${count(text.length)} characters`;
  const open = button(`Show all ${size}`, () => {
    const folded = body.classList.toggle("folded");
    open.textContent = folded ? `Show all ${size}` : "Fold";
    open.setAttribute("aria-expanded", String(!folded));
  }, { class: "unfold", "aria-expanded": "false" });
  const both = document.createDocumentFragment();
  both.append(body, open);
  return both;
}

function details(title, ...children) {
  return el("details", {}, el("summary", {}, title), ...children);
}
