// Numbers, units and labels as text. A value that is not known is null or absent.

const NBSP = "\u00a0";
const known = (value) => value !== null && value !== undefined && value !== "";
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);
const list = (value) => (Array.isArray(value) ? value.filter((item) => item && typeof item === "object") : []);
const record = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

const significant = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

// kind -> [size in the JSON's unit, name], ascending
const UNITS = {
  time: [[1e-3, "µs"], [1, "ms"], [1e3, "s"]],
  bytes: [[1, "B"], [2 ** 10, "KiB"], [2 ** 20, "MiB"], [2 ** 30, "GiB"], [2 ** 40, "TiB"]],
  flops: [[1e6, "MFLOP/s"], [1e9, "GFLOP/s"], [1e12, "TFLOP/s"], [1e15, "PFLOP/s"]],
  bandwidth: [[1e6, "MB/s"], [1e9, "GB/s"], [1e12, "TB/s"]],
  tokens: [[1, "tok/s"]],
  share: [[0.01, "%"]],
  times: [[1, "×"]],
  intensity: [[1, "FLOP/B"]],
  count: [[1, ""]],
};

/// The largest unit in which `value` is at least 1.
function unitOf(kind, value) {
  const units = UNITS[kind];
  return units.findLast(([size]) => Math.abs(value) >= size * 0.9995) ?? units[0];
}

/// One unit for a column: that of its largest value.
function commonUnit(kind, values) {
  return unitOf(kind, Math.max(0, ...values.filter(isNumber).map(Math.abs)));
}

function digits(kind, value, [size]) {
  return (kind === "count" ? whole : significant).format(value / size);
}

/// How a column's numbers are written: as many decimals in each, so that they stand below one another.
function columnFormat(kind, values, [size]) {
  const sizes = values.filter((value) => isNumber(value) && value !== 0).map((value) => Math.abs(value / size));
  const isWhole = kind === "count" || Math.max(0, ...sizes) >= 1000 || sizes.length === 0;
  const wanted = isWhole ? 0 : 2 - Math.floor(Math.log10(Math.min(...sizes)));
  const decimals = Math.min(kind === "share" ? 1 : 2, Math.max(0, wanted));
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return (value) => (isNumber(value) ? format.format(value / size) : "–");
}

function quantity(kind, value) {
  if (!isNumber(value)) return "–";
  const unit = unitOf(kind, value);
  return unit[1] ? digits(kind, value, unit) + NBSP + unit[1] : digits(kind, value, unit);
}

/// 131072 -> 128k
function tokens(value) {
  if (!isNumber(value)) return "–";
  for (const [size, name] of [[2 ** 20, "m"], [2 ** 10, "k"]])
    if (value >= size && Number.isInteger((value / size) * 4)) return value / size + name;
  return whole.format(value);
}

function parameters(value) {
  const [size, name] = value >= 1e9 ? [1e9, "B"] : [1e6, "M"];
  return significant.format(value / size) + NBSP + name;
}

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/// A figure whose unit is given as text: 4.8e12 of "B/s" is 4.8 TB/s.
function figure(value, unit) {
  const kind = { "B/s": "bandwidth", "FLOP/s": "flops", B: "bytes", bytes: "bytes" }[unit];
  if (kind && isNumber(value)) return quantity(kind, value);
  const name = known(unit) ? NBSP + unit : "";
  if (!isNumber(value) || Math.abs(value) < 1e6) return plain(value) + name;
  const power = Math.floor(Math.log10(Math.abs(value)));
  return `${significant.format(value / 10 ** power)} × 10${String(power).replace(/\d/g, (digit) => SUPERSCRIPTS[digit])}${name}`;
}

const plusMinus = (error) => `±${significant.format(error * 100)}${NBSP}%`;

/// What the figure's worth is: "interpolated ±6 %".
function worth(row) {
  if (!known(row.source)) return "no source given";
  if (isNumber(row.error)) return `${row.source} ${plusMinus(row.error)}`;
  return row.source === "assumed" ? row.source : `${row.source}, error not known`;
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/// A field's name as a reader has it: kv_heads -> KV heads.
const FIRST_WORDS = { Kv: "KV", Gpu: "GPU", Gpus: "GPUs", Q: "Query", Ttft: "TTFT", Tpot: "TPOT" };
const title = (name) => sentence(String(name ?? "–").replaceAll("_", " ")).replace(/^\w+/, (word) => FIRST_WORDS[word] ?? word);

function plain(value) {
  if (!known(value)) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? whole.format(value) : String(value);
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (typeof value === "object") return Object.entries(value).map(([name, it]) => `${name} ${plain(it)}`).join(", ");
  return String(value);
}
