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

function part(title, content) {
  const heading = document.createElement("h3");
  heading.textContent = title;
  return [heading, content];
}

function preformatted(text) {
  const element = document.createElement("pre");
  element.textContent = text;
  return element;
}

function toggleRun(row) {
  if (row.nextElementSibling?.classList.contains("opened")) return row.nextElementSibling.remove();
  const opened = document.createElement("tr");
  opened.className = "opened";
  const cell = opened.insertCell();
  cell.colSpan = row.cells.length;
  cell.append(...part("Provenance", preformatted(row.dataset.facts)));
  if (row.dataset.log) cell.append(...part("End of the log", preformatted(row.dataset.log)));
  cell.append(...part("Config", document.getElementById(row.dataset.config).content.cloneNode(true)));
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
