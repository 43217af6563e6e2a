// Ways to spread the model over GPUs.

async function copy(code, said) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    said.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code);
    said.textContent = "Selected: copy it with the keyboard";
  }
}

function flagLine(engine, flags) {
  const code = element("code", null, plain(flags));
  const said = element("span", { class: "said", role: "status" });
  const button = element("button", { type: "button", "aria-label": `Copy the flags for ${engine}` }, "Copy");
  button.addEventListener("click", () => copy(code, said));
  return element("p", { class: "flags" }, element("span", null, engine), code, button, said);
}

const ENGINES = { vllm: "vLLM", trtllm: "TensorRT-LLM" };

function belowPlan(plan) {
  const flags = plan.fits === false ? [] : Object.entries(record(plan.flags)).filter(([, value]) => known(value));
  const cannot = plan.fits === false ? [] : Object.entries(record(plan.flags_why_not)).filter(([, value]) => known(value));
  const reason = plan.fits === false ? plan.why_not : (plan.loses_because ?? plan.why_not);
  const degrees = Object.entries(DEGREES).filter(([key]) => isNumber(plan[key])).map(([key, name]) => `${name} ${plan[key]}`);
  return [
    known(reason) ? element("p", null, sentence(plain(reason))) : null,
    degrees.length + flags.length > 0 ? element("details", { open: bestFor(plan).length > 0 },
      element("summary", null, flags.length > 0 ? "Degrees and flags" : "Degrees"),
      element("p", null, degrees.join(", ")), flags.map(([engine, value]) => flagLine(ENGINES[engine] ?? engine, value)),
      cannot.map(([engine, value]) => element("p", null, `${ENGINES[engine] ?? engine}: no. ${sentence(plain(value))}`))) : null,
  ];
}

const DEGREES = { tp: "TP", adp: "ADP", kvp: "KVP", tp_ff: "TP FF", ep: "EP", pp: "PP" };

const bestFor = (plan) => (Array.isArray(plan.best_for) ? plan.best_for : []);

function planName(plan) {
  return [plan.name ?? "–", plan.fits === false ? element("span", { class: "badge" }, verdict("breaks", "does not fit")) : null,
    ...bestFor(plan).map((what) => element("span", { class: "badge best" }, `★ best ${what}`))];
}

function planSection(codesign) {
  const plans = list(codesign.plans);
  if (plans.length === 0) return [absent("No plans were computed; --gpus 8 would have compared some.")];
  const column = (name, kind, key) => ({ name, kind, value: (plan) => plan[key] });
  const columns = [
    { name: "Plan", text: planName, value: (plan) => plan.name },
    column("GPUs", "count", "gpus"),
    column("TTFT", "time", "ttft_ms"), column("TPOT", "time", "tpot_ms"), column("Throughput", "tokens", "throughput_tok_s"),
    column("Largest batch", "count", "largest_batch"),
    column("Weights a GPU", "bytes", "weights_bytes_per_gpu"), column("KV a GPU", "bytes", "kv_bytes_per_gpu"),
    column("Communication", "time", "communication_ms"), column("Efficiency", "share", "efficiency"),
    worthColumn,
  ].filter((one) => one.text || plans.some((plan) => isNumber(one.value(plan))));
  return [
    element("p", null, "A heading sorts by its column. TP: tensor parallel attention, ADP: attention data parallel, KVP: KV parallel, ",
      "TP FF and EP: tensor and expert parallel feed-forward, PP: pipeline."),
    tableBox({
      label: "Plans over several GPUs", columns, rows: plans, sortable: true, below: belowPlan,
      rowClass: (plan) => bestFor(plan).length > 0 && "own",
    }),
  ];
}
