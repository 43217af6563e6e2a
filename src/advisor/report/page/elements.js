// Elements of the page. All text enters as text nodes: whatever a name contains, it stays text.

function add(parent, children) {
  for (const child of children.flat(Infinity)) if (known(child) && child !== false) parent.append(child);
  return parent;
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    if (known(value) && value !== false) made.setAttribute(name, value === true ? "" : value);
  return add(made, children);
}

function drawing(attributes, ...paths) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 16 16", "aria-hidden": "true", ...attributes }))
    svg.setAttribute(name, value);
  for (const path of paths) {
    const made = document.createElementNS(space, "path");
    for (const [name, value] of Object.entries(path)) made.setAttribute(name, value);
    svg.append(made);
  }
  return svg;
}

const CIRCLE = "M8 3a5 5 0 1 0 0 10a5 5 0 1 0 0-10z";
const DIAMOND = "M8 2L14 8L8 14L2 8z";

// source -> its mark in tables, and in charts as Chart.js calls it
const SOURCES = {
  measured: { path: CIRCLE, filled: true, style: "circle" },
  interpolated: { path: CIRCLE, style: "circle" },
  extrapolated: { path: "M8 2.5L14 13H2z", style: "triangle" },
  "third-party": { path: DIAMOND, filled: true, style: "rectRot" },
  "third-party, interpolated": { path: DIAMOND, style: "rectRot" },
  "third-party, extrapolated": { path: "M8 13.5L14 3H2z", style: "triangle", rotation: 180 },
  assumed: { path: "M3 3L13 13M13 3L3 13", style: "crossRot" },
};

function sourceMark(source) {
  const shape = SOURCES[source];
  if (!shape) return null;
  return drawing({ class: shape.filled ? "mark filled" : "mark" }, { d: shape.path });
}

/// "○ interpolated ±6 %"
function worthLabel(row) {
  return element("span", { class: "worth" }, sourceMark(row.source), worth(row));
}

const VERDICTS = {
  follows: { class: "follows", paths: [{ d: "M3 8.5L6.5 12L13 4.5" }] },
  partly: { class: "partly", paths: [{ d: CIRCLE }, { d: "M8 3a5 5 0 0 1 0 10z", class: "solid" }] },
  breaks: { class: "breaks", paths: [{ d: "M3.5 3.5L12.5 12.5M12.5 3.5L3.5 12.5" }] },
  "does not apply": { class: "moot", paths: [{ d: "M3 8H13" }] },
};

function verdict(word, text) {
  const kind = Object.hasOwn(VERDICTS, word) ? VERDICTS[word] : VERDICTS["does not apply"];
  return element("span", { class: `verdict ${kind.class}` }, drawing({ class: "icon" }, ...kind.paths), text ?? word);
}

function absent(text) {
  return element("p", { class: "absent" }, text);
}

function legend(entries) {
  if (entries.length === 0) return null;
  const swatch = ({ colour, dash }) =>
    drawing({ class: "swatch", viewBox: "0 0 24 12" }, {
      d: dash ? "M0 6H24" : "M1 1H23V11H1z",
      style: dash ? `stroke: var(${colour}); stroke-width: 2.5; stroke-dasharray: ${dash.join(" ")}`
        : `fill: var(${colour}); stroke: none`,
    });
  return element("ul", { class: "legend" }, entries.map((entry) => element("li", null, swatch(entry), entry.name)));
}

/// A chart with its caption, legend and the table that says the same. `config(theme)` makes Chart.js's configuration.
function chartFigure({ id, heading, note, description, config, entries, controls, table }) {
  const canvas = element("canvas", { id, role: "img", "aria-label": description });
  const figure = element("figure", null,
    element("figcaption", null, heading && element("h3", null, heading), note && element("p", null, note)),
    controls,
    element("div", { class: "canvas" }, canvas),
    legend(entries ?? []),
    table && foldedTable("The same as a table", table));
  const chart = register(canvas, config);
  return { figure, redraw: () => draw(chart) };
}

function foldedTable(summary, content) {
  return element("details", null, element("summary", null, summary), content);
}
