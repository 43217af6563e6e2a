// What the report is about, and the five numbers to watch together.

const plural = (count, noun) => `${plain(count)} ${noun}${count === 1 ? "" : "s"}`;

/// "32 layers of GQA over the full context, 32 query and 8 KV heads, head dimension 128"
function attentionText({ layers, kind, span, q_heads, kv_heads, head_dim_qk, head_dim_v }) {
  const parts = [`${plural(layers, "layer")} of ${plain(kind)} over ${span === "full" ? "the full context" : `a ${plain(span)}`}`];
  if (isNumber(q_heads)) parts.push(`${q_heads} query and ${plural(kv_heads, "KV head")}`);
  if (isNumber(head_dim_qk)) parts.push(`head dimension ${head_dim_qk}`);
  if (isNumber(head_dim_v) && head_dim_v !== head_dim_qk) parts.push(`of values ${head_dim_v}`);
  return parts.join(", ");
}

function modelFacts(model) {
  const { parameters: all, active_parameters: active, attention, context } = model;
  const facts = [];
  if (isNumber(all)) facts.push(`${parameters(all)} parameters`);
  if (isNumber(active) && active !== all) facts.push(`${parameters(active)} of them active`);
  facts.push(...list(attention).map(attentionText));
  if (isNumber(context)) facts.push(`context up to ${tokens(context)}`);
  return facts.map((fact) => `${sentence(fact)}.`).join(" ");
}

function titleBlock(codesign) {
  const model = record(codesign.model), hardware = record(codesign.hardware);
  const place = hardware.title ?? hardware.name ?? "hardware without a name";
  const sources = Object.keys(SOURCES).map((source) => element("li", null, sourceMark(source), source));
  return element("header", null,
    element("p", { class: "kind" }, "Co-design report"),
    element("h1", null, plain(model.name ?? model.path ?? "A model without a name"), element("span", null, ` on ${plain(place)}`)),
    element("p", { class: "facts" }, modelFacts(model)),
    known(codesign.note) ? element("p", { class: "note" }, plain(codesign.note)) : null,
    element("ul", { class: "sources", "aria-label": "Marks of sources" }, element("li", null, "Figures are:"), sources));
}

function bigNumber({ name, meaning, kind, value, from, otherwise }) {
  const unit = isNumber(value) ? unitOf(kind, value) : null;
  const shown = unit ? [digits(kind, value, unit), element("span", null, ` ${unit[1]}`)] : "–";
  return element("div", null,
    element("dt", null, name, element("span", null, meaning)),
    element("dd", null, element("strong", null, shown), unit ? from : element("span", { class: "worth" }, otherwise)));
}

/// Efficiency is a plan's: that of the one with the lowest latency, as TTFT and TPOT are.
function efficiencyOf(codesign) {
  const plans = list(codesign.plans).filter((plan) => plan.fits !== false && isNumber(plan.efficiency));
  const plan = plans.find((one) => bestFor(one).includes("latency")) ?? plans[0];
  if (!plan) return { meaning: "over GPUs", otherwise: "no plan over several GPUs" };
  return { meaning: `over GPUs, plan ${plain(plan.name)}`, value: plan.efficiency, from: worthLabel(plan) };
}

function summarySection(codesign) {
  const rows = list(codesign.contexts).filter((row) => isNumber(row.context));
  if (rows.length === 0) return [absent("No contexts were computed.")];
  const row = rows.reduce((one, other) => (other.context > one.context ? other : one));
  const batch = isNumber(row.largest_batch) ? `${plural(row.largest_batch, "request")} together` : "all requests together";
  const pages = isNumber(row.kv_bytes_in_pages) ? `exact; ${quantity("bytes", row.kv_bytes_in_pages)} in pages` : "exact, without pages";
  const otherwise = plain(row.why_not ?? "not known");
  const numbers = [
    { name: "TTFT", meaning: "time to the first token", kind: "time", value: row.ttft_ms },
    { name: "TPOT", meaning: "time per output token", kind: "time", value: row.tpot_ms },
    { name: "Throughput", meaning: batch, kind: "tokens", value: row.throughput_tok_s },
    { name: "KV memory", meaning: "of one request", kind: "bytes", value: row.kv_bytes, from: element("span", { class: "worth" }, pages) },
    { name: "Efficiency", kind: "share", ...efficiencyOf(codesign) },
  ];
  return [
    element("p", null, `At ${tokens(row.context)} tokens, the longest context that was computed.`),
    element("dl", { class: "five" }, numbers.map((number) => bigNumber({ from: worthLabel(row), otherwise, ...number }))),
  ];
}
