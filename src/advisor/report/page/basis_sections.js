// What the figures rest on: inputs, the model as it was read, where each time comes from, assumptions.

const COLUMN_CLASSES = { at: "wide", file: "path" };

/// Columns of text, or of counts where a field has nothing else. `names`: field -> heading.
function textColumns(rows, names) {
  return Object.entries(names).map(([key, name]) => {
    const values = rows.map((row) => row[key]).filter(known);
    const isCount = values.length > 0 && values.every(isNumber);
    return { name, class: isCount ? "number" : COLUMN_CLASSES[key], text: (row) => plain(row[key]), value: (row) => row[key] };
  });
}

const textTable = (label, rows, names) => tableBox({ label, rows, columns: textColumns(rows, names) });

const ATTENTION_FIELDS = {
  layers: "Layers", kind: "Kind", span: "Span", q_heads: "Query heads", kv_heads: "KV heads", group_size: "Group size",
  head_dim_qk: "Head dimension, Q K", head_dim_v: "Head dimension, V",
};
const FEED_FORWARD_FIELDS = {
  layers: "Layers", kind: "Kind", width: "Width", experts: "Experts", top_k: "Top k", shared_experts: "Shared experts",
};
const PROVENANCE_FIELDS = {
  what: "What", file: "File", query: "Query", at: "At", system: "System", framework: "Framework", version: "Version", basis: "Basis",
};

function inputSection(codesign) {
  const model = record(codesign.model), attention = list(model.attention), feedForward = list(model.feed_forward);
  const inputs = list(codesign.inputs).map((input) => ({ ...input, name: title(input.name), value: plain(input.value) }));
  return [
    inputs.length > 0
      ? textTable("What the figures were computed for", inputs, { name: "Input", value: "Value", source: "Source", why: "Why" })
      : absent("The inputs are not listed."),
    attention.length > 0 ? textTable("The model’s attention", attention, ATTENTION_FIELDS)
      : absent("The model’s attention is not described."),
    feedForward.length > 0 ? textTable("The model’s feed-forward", feedForward, FEED_FORWARD_FIELDS) : null,
  ];
}

function hardwareTable(figures) {
  const [name, source, origin] = textColumns(figures, { name: "Figure", source: "Source", origin: "Origin" });
  const value = { name: "Value", class: "number", text: (row) => figure(row.value, row.unit) };
  return tableBox({ label: "The hardware’s figures", rows: figures, columns: [name, value, source, origin] });
}

function provenanceSection(codesign) {
  const rows = list(codesign.provenance), figures = list(record(codesign.hardware).figures);
  const columns = [...textColumns(rows, PROVENANCE_FIELDS), worthColumn];
  return [
    rows.length > 0 ? tableBox({ label: "Where each time comes from", rows, columns, sortable: true })
      : absent("Where the times come from is not recorded."),
    figures.length > 0 ? hardwareTable(figures) : absent("The hardware’s figures are not listed."),
  ];
}

function assumptionSection(codesign) {
  const { assumptions } = record(codesign.model), rows = list(assumptions);
  if (rows.length > 0) return [textTable("What the model’s file leaves out", rows, { field: "Field", value: "Value", why: "Why" })];
  return [absent(Array.isArray(assumptions) ? "Nothing about the model had to be assumed."
    : "What had to be assumed about the model is not listed.")];
}
