// What one parameter changes: every figure relative to the model's own value of it.

const SWEEP_LINES = [
  { key: "prefill_ms", name: "prefill time", kind: "time", colour: "--c1", dash: [24] },
  { key: "decode_ms", name: "decode time", kind: "time", colour: "--c6", dash: [7, 4] },
  { key: "kv_bytes", name: "KV memory", kind: "bytes", colour: "--c5", dash: [2, 3], isExact: true },
  { key: "throughput_tok_s", name: "throughput", kind: "tokens", colour: "--c3", dash: [12, 3, 2, 3] },
];

function sweepConfig(sweep, rows, lines, base) {
  const at = rows.indexOf(base);
  const ratio = (row, line) => (row[line.key] > 0 && base[line.key] > 0 ? row[line.key] / base[line.key] : NaN);
  // A byte count has no error, nor has what is 1 by definition.
  const rangeOf = (row, line) => (line.isExact || row === base ? null : range(ratio(row, line), row.error));
  const ends = rows.flatMap((row) => lines.flatMap((line) => rangeOf(row, line) ?? [ratio(row, line)])).filter((end) => end > 0);
  const [low, high] = [Math.min(0.8, ...ends) / 1.1, Math.max(1.25, ...ends) * 1.1];
  return (colour) => ({
    type: "line",
    plugins: [whiskers, marks],
    data: {
      labels: rows.map((row) => plain(row.value)),
      datasets: lines.map((line) => ({
        label: line.name,
        data: rows.map((row) => ratio(row, line)),
        ranges: rows.map((row) => rangeOf(row, line)),
        borderColor: colour(line.colour), borderDash: line.dash.length > 1 ? line.dash : [], borderWidth: 2,
        ...pointMarks(rows, colour(line.colour), colour("--ground")),
      })),
    },
    options: chartOptions(colour, {
      x: { title: title(sweep.parameter), offset: true, ticks: { maxRotation: 0 } },
      y: logScale(`× the ${base.is_model ? "model’s own" : "first row’s"}`, low, high, (value) => significant.format(value)),
      tooltip: {
        callbacks: {
          title: ([item]) => `${title(sweep.parameter)} ${item.label}`,
          label: (item) => {
            const row = rows[item.dataIndex], line = lines[item.datasetIndex];
            return `${line.name}: ${quantity(line.kind, row[line.key])}${line.isExact ? "" : `, ${worth(row)}`}`;
          },
        },
      },
      plugins: {
        marks: {
          lines: [
            { axis: "x", value: at, label: base.is_model ? `model: ${plain(base.value)}` : "", colour: colour("--muted") },
            { axis: "y", value: 1, colour: colour("--muted") },
          ],
        },
      },
    }),
  });
}

function sweepTable(sweep, rows) {
  const columns = [
    { name: title(sweep.parameter), text: (row) => [plain(row.value), row.is_model ? element("small", null, "the model’s") : null] },
    { name: "Prefill", kind: "time", value: (row) => row.prefill_ms },
    { name: "Decode", kind: "time", value: (row) => row.decode_ms },
    { name: "Attention’s share, decode", kind: "share", value: (row) => row.attention_share_decode },
    { name: "KV", kind: "bytes", value: (row) => row.kv_bytes },
    { name: "Largest batch", kind: "count", value: (row) => row.largest_batch },
    { name: "Throughput", kind: "tokens", value: (row) => row.throughput_tok_s },
    worthColumn,
  ];
  return tableBox({
    label: `Sweep of ${title(sweep.parameter)}`, columns, rows,
    below: (row) => row.why_not, rowClass: (row) => row.is_model && "own",
  });
}

function sweepFigure(sweep, index) {
  const rows = list(sweep.rows);
  const lines = SWEEP_LINES.filter((line) => rows.some((row) => row[line.key] > 0));
  const name = title(sweep.parameter);
  const at = isNumber(sweep.context) ? ` at ${tokens(sweep.context)} tokens` : "";
  const base = rows.find((row) => row.is_model) ?? rows.find((row) => lines.some((line) => row[line.key] > 0));
  if (lines.length === 0) {
    const reason = rows.length > 0 ? "None of its rows could be computed." : "It has no rows.";
    return element("figure", null, element("h3", null, name + at), absent(reason), rows.length > 0 ? sweepTable(sweep, rows) : null);
  }
  return chartFigure({
    id: `chart-sweep-${index}`,
    heading: name + at,
    description: `${name} ${rows.map((row) => plain(row.value)).join(", ")}: ${lines.map((line) => line.name).join(", ")}, `
      + `relative to ${plain(base.value)}.`,
    config: sweepConfig(sweep, rows, lines, base),
    entries: lines,
    table: sweepTable(sweep, rows),
  }).figure;
}

function sweepSection(codesign) {
  const sweeps = list(codesign.sweeps);
  if (sweeps.length === 0) return [absent("Nothing was swept; --sweep kv_heads=1,2,4,8 would have.")];
  return [
    element("p", null, "One parameter changes, the rest of the model stays. Whiskers: each row’s own error. Quality is not ",
      "computed: a changed model must be trained."),
    element("div", { class: "row" }, sweeps.map(sweepFigure)),
  ];
}
