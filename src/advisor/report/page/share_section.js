// Attention's share of the time against the context.

const SHARE_LINES = [
  { key: "attention_share_prefill", name: "prefill", phase: "prefill", colour: "--c1", dash: [24] },
  { key: "attention_share_append", name: "append", phase: "append", colour: "--c5", dash: [2, 3] },
  { key: "attention_share_decode", name: "decode", phase: "decode", colour: "--c6", dash: [7, 4] },
];

/// Whose source and error attention's share has: attention's own, or else the row's.
const attentionOf = (row, phase) => list(row[`parts_${phase}`]).find((part) => part.name === "attention") ?? row;

function crossings(codesign) {
  const crossover = record(codesign.crossover);
  return [
    { phase: "prefill", context: crossover.prefill_context, colour: "--c1" },
    { phase: "decode", context: crossover.decode_context, colour: "--c6" },
  ];
}

function crossoverText(codesign) {
  if (!known(codesign.crossover)) return "Where it passes half was not computed.";
  const sentences = crossings(codesign).map(({ phase, context }) => (isNumber(context)
    ? `In ${phase} attention passes half of the time at ${tokens(context)} tokens.`
    : `In ${phase} no context is known at which it passes half.`));
  const { why_not } = record(codesign.crossover);
  return [...sentences, known(why_not) ? `${sentence(plain(why_not))}.` : ""].join(" ").trim();
}

function shareConfig(rows, lines, codesign) {
  const crossed = crossings(codesign).filter(({ context }) => isNumber(context));
  const dataset = (line, colour) => {
    const parts = rows.map((row) => attentionOf(row, line.phase));
    const percent = (share) => (isNumber(share) ? share * 100 : NaN);
    return {
      label: line.name,
      data: rows.map((row) => ({ x: row.context, y: percent(row[line.key]) })),
      ranges: rows.map((row, at) => shareRange(row[line.key], parts[at].error)?.map(percent)),
      parts,
      borderColor: colour(line.colour),
      borderDash: line.dash.length > 1 ? line.dash : [],
      borderWidth: 2,
      ...pointMarks(parts, colour(line.colour), colour("--ground")),
    };
  };
  const tooltip = {
    callbacks: {
      title: ([item]) => `${tokens(item.parsed.x)} tokens`,
      label: ({ dataset: { label, parts }, parsed, dataIndex }) =>
        `${label}: ${significant.format(parsed.y)} %, time ${worth(parts[dataIndex])}`,
    },
  };
  return (colour) => ({
    type: "line",
    plugins: [whiskers, marks],
    data: { datasets: lines.map((line) => dataset(line, colour)) },
    options: chartOptions(colour, {
      x: contextScale(rows.map((row) => row.context)),
      y: { title: "Attention’s share of the time, %", min: 0, max: 100 },
      tooltip,
      plugins: {
        marks: {
          lines: [
            ...crossed.map(({ phase, context, colour: name }) =>
              ({ axis: "x", value: context, label: `${phase}: ${tokens(context)}`, colour: colour(name) })),
            { axis: "y", value: 50, colour: colour("--muted") },
          ],
        },
      },
    }),
  });
}

function contextTable(rows) {
  const column = (name, kind, key) => ({ name, kind, value: (row) => row[key] });
  const columns = [
    { name: "Context", kind: "count", text: (row) => tokens(row.context), value: (row) => row.context },
    column("Prefill", "time", "prefill_ms"), column("Attention’s share", "share", "attention_share_prefill"),
    column("Append", "time", "append_ms"), column("Attention’s share", "share", "attention_share_append"),
    column("Decode", "time", "decode_ms"), column("Attention’s share", "share", "attention_share_decode"),
    column("TTFT", "time", "ttft_ms"), column("TPOT", "time", "tpot_ms"),
    column("KV", "bytes", "kv_bytes"), column("KV in pages", "bytes", "kv_bytes_in_pages"),
    column("Largest batch", "count", "largest_batch"), column("Throughput", "tokens", "throughput_tok_s"), worthColumn,
  ].filter((one) => one.text || rows.some((row) => isNumber(one.value(row))));
  return tableBox({ label: "Times, attention’s share and memory by context", columns, rows, below: (row) => row.why_not });
}

function shareSection(codesign) {
  const rows = list(codesign.contexts).filter((row) => row.context > 0);
  if (rows.length === 0) return [absent("No contexts were computed.")];
  const lines = SHARE_LINES.filter((line) => rows.some((row) => isNumber(row[line.key])));
  if (lines.length === 0) return [absent("Attention’s share is not known at any context."), contextTable(rows)];
  const last = rows.at(-1);
  const told = lines.map((line) => `${line.name} ${quantity("share", last[line.key])}`).join(", ");
  return [chartFigure({
    id: "chart-share",
    note: `${crossoverText(codesign)} Whiskers: attention’s time off by its error, the rest as computed.`,
    description: `Attention’s share at ${tokens(last.context)} tokens: ${told}.`,
    config: shareConfig(rows, lines, codesign),
    entries: lines,
    table: contextTable(rows),
  }).figure];
}
