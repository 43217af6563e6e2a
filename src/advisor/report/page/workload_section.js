// What a workload would see, against its targets.

const WORKLOAD_ROWS = [
  { name: "TTFT", kind: "time", key: "ttft_ms", target: "ttft_target_ms", meets: "meets_ttft" },
  { name: "TPOT", kind: "time", key: "tpot_ms", target: "tpot_target_ms", meets: "meets_tpot" },
  { name: "Throughput", kind: "tokens", key: "throughput_tok_s" },
  { name: "KV memory", kind: "bytes", key: "kv_bytes" },
];

function workloadTable(workload) {
  const met = (row) => (typeof workload[row.meets] !== "boolean" ? "–"
    : workload[row.meets] ? verdict("follows", "meets it") : verdict("breaks", "misses it"));
  const origin = (row) => (!isNumber(workload[row.key]) ? "–" : row.kind === "bytes" ? "exact" : worthLabel(workload));
  const target = (row) => (isNumber(workload[row.target]) ? quantity(row.kind, workload[row.target]) : "none");
  const columns = [
    { name: "Figure", text: (row) => row.name },
    { name: "Value", class: "number", text: (row) => quantity(row.kind, workload[row.key]) },
    { name: "Target", class: "number", text: target },
    { name: "Verdict", text: met },
    { name: "Source, error", text: origin },
  ];
  return tableBox({ label: "The workload’s figures and targets", columns, rows: WORKLOAD_ROWS });
}

function workloadSection(codesign) {
  const workload = record(codesign.workload);
  if (Object.keys(workload).length === 0) return [absent("No workload was given; --workload FILE would have judged one.")];
  const shown = ["name", "source", "error", ...WORKLOAD_ROWS.flatMap((row) => [row.key, row.target, row.meets])];
  const others = Object.entries(workload).filter(([key, value]) => !shown.includes(key) && known(value));
  return [
    known(workload.name) ? element("p", null, plain(workload.name)) : null,
    workloadTable(workload),
    others.length > 0 ? element("dl", { class: "more" },
      others.map(([key, value]) => [element("dt", null, title(key)), element("dd", null, plain(value))])) : null,
  ];
}
