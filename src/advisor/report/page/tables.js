// Tables: numbers to the right, one unit a column, a scroll box of their own, sorting by their headings.
// A column: {name, kind: of UNITS, value(row)}, or {name, text(row), value(row) to sort by}.
// `below(row)` is shown under the row's figures, across all columns, and moves with them.

function headingText(column, arrow) {
  return [column.name, arrow, column.unit?.[1] && element("span", { class: "unit" }, column.unit[1])];
}

const alignment = (column) => (column.kind ? "number" : column.class);

function cell(column, row, isFirst) {
  const content = column.text ? column.text(row)
    : column.format(column.value(row));
  return element(isFirst ? "th" : "td",
    { class: alignment(column), scope: isFirst && "row" },
    known(content) ? content : "–");
}

function compare(column, ascending) {
  return (one, other) => {
    const [a, b] = [column.value(one), column.value(other)];
    if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a)); // what is not known comes last
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
    return ascending ? order : -order;
  };
}

function sortBy(made, column, heading) {
  const ascending = heading.getAttribute("aria-sort") !== "ascending";
  for (const other of made.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const order = compare(column, ascending);
  const bodies = [...made.tBodies].sort((one, other) => order(one.row, other.row));
  made.append(...bodies);
}

function tableBox({ label, columns, rows, sortable, below, rowClass }) {
  for (const column of columns)
    if (column.kind && !column.text) {
      const values = rows.map(column.value);
      column.unit = commonUnit(column.kind, values);
      column.format = columnFormat(column.kind, values, column.unit);
    }
  const made = element("table");
  const headings = columns.map((column) => {
    const heading = element("th", { scope: "col", class: alignment(column) });
    if (!sortable || !column.value) return add(heading, headingText(column));
    const arrow = element("span", { class: "arrow", "aria-hidden": "true" });
    const button = element("button", { type: "button", title: `Sort by ${column.name}` }, ...headingText(column, arrow));
    button.addEventListener("click", () => sortBy(made, column, heading));
    return add(heading, [button]);
  });
  made.append(element("caption", null, label), element("thead", null, element("tr", null, headings)));
  for (const row of rows) {
    const body = element("tbody", { class: rowClass?.(row) },
      element("tr", null, columns.map((column, index) => cell(column, row, index === 0))));
    const more = below?.(row);
    if (more) body.append(element("tr", { class: "below" },
      element("td", { colspan: columns.length }, element("div", null, more))));
    body.row = row;
    made.append(body);
  }
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, made);
}

const worthColumn = { name: "Source, error", text: worthLabel, value: (row) => row.source };
