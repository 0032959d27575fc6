// Tables that sort by any column, by pointer or keyboard. A cell carries its exact figure in data-value.
import { el } from "./dom";

export interface Cell { text: string; value?: number; name?: string; kind?: string }
// An optional column is left out where no cell of it has a figure other than 0.
export interface Column { title: string; number?: boolean; optional?: boolean }

function cellElement(cell: Cell, column: Column): HTMLTableCellElement {
  const td = el("td", {}, cell.text);
  if (column.number) td.classList.add("number");
  if (cell.kind) td.classList.add(cell.kind);
  if (cell.value !== undefined) td.dataset.value = String(cell.value);
  if (cell.name) td.dataset.figure = cell.name;
  return td;
}

function compare(a: HTMLTableCellElement, b: HTMLTableCellElement): number {
  const x = a.dataset.value, y = b.dataset.value;
  if (x !== undefined && y !== undefined) return Number(x) - Number(y);
  return (a.textContent ?? "").localeCompare(b.textContent ?? "", "en", { numeric: true });
}

function sortBy(table: HTMLTableElement, index: number, header: HTMLTableCellElement): void {
  const ascending = header.getAttribute("aria-sort") !== "ascending";
  for (const other of table.tHead!.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => (ascending ? 1 : -1) * compare(a.cells[index], b.cells[index]));
  table.tBodies[0].append(...rows);
}

export function dataTable(caption: string, allColumns: Column[], allRows: Cell[][], sortable = true): HTMLElement {
  const kept = allColumns.map((column, i) => !column.optional || allRows.some((row) => row[i].value));
  const columns = allColumns.filter((_, i) => kept[i]);
  const rows = allRows.map((row) => row.filter((_, i) => kept[i]));
  const head = el("tr");
  const table = el("table", { class: "data", "aria-label": caption }, el("thead", {}, head), el("tbody"));
  columns.forEach((column, index) => {
    const th = el("th", { scope: "col" });
    if (column.number) th.classList.add("number");
    if (sortable) {
      const button = el("button", { type: "button", title: "Sort by this column" }, column.title);
      button.addEventListener("click", () => sortBy(table, index, th));
      th.append(button);
    } else {
      th.append(column.title);
    }
    head.append(th);
  });
  for (const row of rows) {
    table.tBodies[0].append(el("tr", {}, ...row.map((cell, index) => cellElement(cell, columns[index]))));
  }
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
}
