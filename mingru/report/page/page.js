"use strict";

// The first number in a cell, so that 25/36, 8.35e-4 and +0.40 (...) sort by value; null where there is none.
function numberIn(text) {
  const ratio = text.match(/^(\d+)\/(\d+)$/);
  if (ratio) return Number(ratio[1]) / Number(ratio[2]);
  if (text.startsWith("inf")) return Infinity;
  const found = text.replace(/,/g, "").match(/^[-+]?\d*\.?\d+(?:e[-+]?\d+)?/i);
  return found ? Number(found[0]) : null;
}

function compareCells(a, b, numeric) {
  if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
  const [x, y] = [numberIn(a), numberIn(b)];
  // cells without a number stay last
  if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
  return x - y;
}

function sortBy(header) {
  const table = header.closest("table");
  closeRuns(table);
  const column = [...header.parentNode.children].indexOf(header);
  const numeric = header.classList.contains("number");
  const up = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentNode.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", up ? "ascending" : "descending");
  const body = table.tBodies[0];
  const text = (row) => row.cells[column].textContent.trim();
  const rows = [...body.rows].sort((a, b) => {
    const [x, y] = [text(a), text(b)];
    const blank = numeric && (numberIn(x) === null || numberIn(y) === null);
    const order = compareCells(x, y, numeric);
    return blank || up ? order : -order;
  });
  body.append(...rows);
}

function filterRows(words) {
  for (const row of document.querySelectorAll("table.sortable tbody tr:not(.opened)")) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
  for (const table of document.querySelectorAll("table.runs")) closeRuns(table);
}

function closeRuns(table) {
  for (const opened of table.querySelectorAll("tr.opened")) opened.remove();
}

const listing = JSON.parse(document.getElementById("listing").textContent);
const WORDS = new Set(["task", "mixer", "ended", "fit"]);

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function listRuns() {
  const table = document.querySelector("table.runs");
  const kinds = listing.headers.map((header) => (WORDS.has(header) ? "" : "number"));
  for (const [column, header] of listing.headers.entries()) {
    const cell = element("th", undefined, kinds[column]);
    cell.scope = "col";
    const button = element("button", header);
    button.type = "button";
    cell.append(button);
    table.tHead.rows[0].append(cell);
  }
  for (const [number, [cells]] of listing.rows.entries()) {
    const row = element("tr");
    row.tabIndex = 0;
    row.dataset.run = number;
    row.append(...cells.map((text, column) => element("td", text, kinds[column])));
    table.tBodies[0].append(row);
  }
}

function toggleRun(row) {
  if (row.nextElementSibling?.classList.contains("opened")) return row.nextElementSibling.remove();
  const [, config, provenance, facts, log] = listing.rows[Number(row.dataset.run)];
  const opened = element("tr", undefined, "opened");
  const cell = opened.insertCell();
  cell.colSpan = row.cells.length;
  cell.append(element("h3", "Provenance"), element("pre", `${facts}\n${listing.provenances[provenance]}`));
  if (log) cell.append(element("h3", "End of the log"), element("pre", log));
  cell.append(element("h3", "Config"), element("pre", listing.configs[config]));
  row.after(opened);
}

function save(button) {
  const text = button.parentNode.querySelector("pre").textContent;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = button.dataset.name;
  link.click();
  URL.revokeObjectURL(link.href);
}

function copy(button) {
  const block = button.parentNode.querySelector("pre");
  // a page opened from disk may not use the clipboard: the text is selected instead
  getSelection().selectAllChildren(block);
  navigator.clipboard?.writeText(block.textContent).catch(() => {});
}

document.addEventListener("click", (event) => {
  const target = event.target;
  if (target.closest("th")) sortBy(target.closest("th"));
  else if (target.matches(".save")) save(target);
  else if (target.matches(".copy")) copy(target);
  else if (target.closest("table.runs tbody tr:not(.opened)")) toggleRun(target.closest("tr"));
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.target.matches("table.runs tbody tr:not(.opened)")) toggleRun(event.target);
});

document.getElementById("filter").addEventListener("input", (event) => {
  filterRows(event.target.value.toLowerCase().split(/\s+/).filter(Boolean));
});

listRuns();
