// The time of each part of a step, stacked, as shares or as times.

// Fixed places, so that a part has the same colour in every chart.
const PARTS = ["attention", "attention projections", "feed-forward", "router", "output matrix", "communication", "overhead"];
const partColour = (name, names) => `--c${((PARTS.includes(name) ? PARTS.indexOf(name) : names.indexOf(name)) % 7) + 1}`;

/// What one chart shows: rows {context, parts, total, error}, and the parts' names, attention lowest.
function stackOf(phase, contexts) {
  const rows = contexts.map((row) => {
    const parts = list(row[`parts_${phase}`]).filter((part) => isNumber(part.ms));
    return { context: row.context, error: row.error, parts, total: parts.reduce((sum, part) => sum + part.ms, 0) };
  }).filter((row) => row.total > 0);
  const found = [...new Set(rows.flatMap((row) => row.parts.map((part) => plain(part.name))))];
  const names = [...PARTS.filter((name) => found.includes(name)), ...found.filter((name) => !PARTS.includes(name))];
  return { phase, rows, names };
}

const partOf = (row, name) => row.parts.find((part) => plain(part.name) === name);

/// How a stack is shown as shares: what a part's value is, and where whiskers stand: at attention, which lies lowest.
function asShares({ rows, names }) {
  const percent = (share) => share * 100;
  const attentionRange = (row) => {
    const part = partOf(row, names[0]);
    return part ? shareRange(part.ms / row.total, part.error)?.map(percent) : null;
  };
  return {
    value: (row, part) => percent(part.ms / row.total),
    range: (row, name) => (name === names[0] ? attentionRange(row) : null),
    labels: rows.map((row) => [tokens(row.context), quantity("time", row.total)]),
    scale: { title: "Share of the time, %", min: 0, max: 100 },
  };
}

/// The same for times: whiskers are those of the whole, at the part that lies highest.
function asTimes({ rows, names }) {
  const unit = commonUnit("time", rows.map((row) => row.total));
  const wholeRange = (row) => range(row.total, row.error)?.map((end) => end / unit[0]);
  return {
    value: (row, part) => part.ms / unit[0],
    range: (row, name) => (name === names.at(-1) ? wholeRange(row) : null),
    labels: rows.map((row) => tokens(row.context)),
    scale: { title: `Time, ${unit[1]}`, min: 0, suggestedMax: Math.max(...rows.map((row) => wholeRange(row)?.[1] ?? 0)) },
  };
}

function partsConfig({ rows, names }, shown, colour) {
  const dataset = (name) => ({
    label: name,
    data: rows.map((row) => (partOf(row, name) ? shown.value(row, partOf(row, name)) : 0)),
    ranges: rows.map((row) => shown.range(row, name)),
    whiskers: [{ colour: colour("--ground"), width: 4 }, { colour: colour("--text"), width: 1.5 }],
    parts: rows.map((row) => partOf(row, name)),
    backgroundColor: colour(partColour(name, names)),
    borderColor: colour("--ground"),
    borderWidth: { top: 1 },
    borderSkipped: false,
    maxBarThickness: 56,
  });
  const tooltip = {
    callbacks: {
      title: ([item]) => `${tokens(rows[item.dataIndex].context)} tokens`,
      label: ({ dataset: { label, parts }, dataIndex }) =>
        (parts[dataIndex] ? `${label}: ${quantity("time", parts[dataIndex].ms)}, ${worth(parts[dataIndex])}` : `${label}: none`),
    },
  };
  return {
    type: "bar",
    plugins: [whiskers],
    data: { labels: shown.labels, datasets: names.map(dataset) },
    options: chartOptions(colour, {
      x: { stacked: true, title: "Context, tokens", grid: { display: false }, ticks: { maxRotation: 0 } },
      y: { stacked: true, ...shown.scale },
      tooltip,
    }),
  };
}

function partCell(part, format) {
  if (!part) return null;
  const error = isNumber(part.error) ? plusMinus(part.error) : null;
  const label = plain(part.source ?? "no source given");
  const shown = error ? [element("span", { class: "spoken" }, label), error] : label;
  return [format(part.ms), element("small", null, sourceMark(part.source), shown)];
}

function partsTable({ phase, rows, names }) {
  const column = (name) => {
    const times = rows.map((row) => partOf(row, name)?.ms);
    const unit = commonUnit("time", times), format = columnFormat("time", times, unit);
    return { name: sentence(name), kind: "time", unit, text: (row) => partCell(partOf(row, name), format) };
  };
  const columns = [{ name: "Context", kind: "count", text: (row) => tokens(row.context) }, ...names.map(column)];
  return tableBox({ label: `Time per part of ${phase}`, columns, rows });
}

/// Buttons of which one is pressed. `choices`: text -> what to do.
function switchOf(label, choices) {
  const buttons = Object.entries(choices).map(([text, choose], index) => {
    const button = element("button", { type: "button", "aria-pressed": String(index === 0) }, text);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      choose();
    });
    return button;
  });
  return element("div", { class: "switch", role: "group", "aria-label": label }, buttons);
}

function partsFigure(phase, contexts) {
  const stack = stackOf(phase, contexts);
  if (stack.rows.length === 0) return absent(`The parts of ${phase} are not known.`);
  let shown = asShares(stack);
  const show = (how) => { shown = how(stack); redraw(); };
  const { figure, redraw } = chartFigure({
    id: `chart-parts-${phase}`,
    heading: sentence(phase),
    description: `Parts of ${phase} at each context, stacked; ${stack.names[0]} lies lowest.`,
    config: (colour) => partsConfig(stack, shown, colour),
    entries: stack.names.map((name) => ({ name, colour: partColour(name, stack.names) })),
    controls: switchOf(`Scale of ${phase}`, { Share: () => show(asShares), Time: () => show(asTimes) }),
    table: partsTable(stack),
  });
  return figure;
}

function partsSection(codesign) {
  const contexts = list(codesign.contexts).filter((row) => isNumber(row.context));
  if (contexts.length === 0) return [absent("No contexts were computed.")];
  return [
    element("p", null, "Shares show what dominates, with the whole’s time below each bar. Whiskers: the error of attention in ",
      "shares, of the whole in times."),
    element("div", { class: "pair" }, partsFigure("prefill", contexts), partsFigure("decode", contexts)),
  ];
}
