// Charts: colours from the page's variables, whiskers for errors, marks for values worth seeing.

const registered = [];

function register(canvas, config) {
  const chart = { canvas, config, live: null };
  registered.push(chart);
  return chart;
}

function draw(chart) {
  chart.live?.destroy();
  chart.live = new Chart(chart.canvas, chart.config(theme()));
}

function drawAll() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  registered.forEach(draw);
}

function theme() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(name).trim();
}

/// The rows' sources, as marks of points.
function pointMarks(rows, colour, background) {
  const shapes = rows.map((row) => SOURCES[row.source] ?? {});
  return {
    pointStyle: shapes.map((shape) => shape.style ?? "circle"),
    pointRotation: shapes.map((shape) => shape.rotation ?? 0),
    pointBackgroundColor: shapes.map((shape) => (shape.filled ? colour : background)),
    pointBorderColor: colour,
    pointBorderWidth: 1.75,
    pointRadius: 5,
    pointHoverRadius: 6,
  };
}

const range = (value, error) => (isNumber(value) && isNumber(error) ? [value * Math.max(0, 1 - error), value * (1 + error)] : null);

/// A share whose part is off by `error` while the rest is not.
function shareRange(share, error) {
  const times = range(share, error);
  return times && times.map((part) => part / (part + 1 - share));
}

/// A dataset's `ranges`: [low, high] a point, or null. Over bars, below the marks of points.
const whiskers = {
  id: "whiskers",
  // To return false would forbid the drawing.
  beforeDatasetsDraw(chart) {
    if (chart.config.type !== "bar") drawWhiskers(chart);
  },
  afterDatasetsDraw(chart) {
    if (chart.config.type === "bar") drawWhiskers(chart);
  },
};

function drawWhiskers(chart) {
  const pen = chart.ctx, cap = 4, { top, bottom } = chart.chartArea;
  chart.data.datasets.forEach((dataset, index) => {
    const meta = chart.getDatasetMeta(index);
    pen.save();
    (dataset.ranges ?? []).forEach((ends, at) => {
      if (!ends || !meta.data[at]) return;
      const { x } = meta.data[at];
      const ys = ends.map((end) => Math.min(bottom, Math.max(top, chart.scales.y.getPixelForValue(end))));
      pen.beginPath();
      pen.moveTo(x, ys[0]), pen.lineTo(x, ys[1]);
      for (const y of ys) pen.moveTo(x - cap, y), pen.lineTo(x + cap, y);
      for (const { colour, width } of dataset.whiskers ?? [{ colour: dataset.borderColor, width: 1.5 }]) {
        pen.strokeStyle = colour;
        pen.lineWidth = width;
        pen.stroke();
      }
    });
    pen.restore();
  });
}

/// options.plugins.marks.lines: {axis, value, label, colour}, drawn across the chart.
const marks = {
  id: "marks",
  beforeDatasetsDraw(chart, _, { lines }) {
    const pen = chart.ctx, { left, right, top, bottom } = chart.chartArea;
    pen.save();
    pen.font = `12px ${Chart.defaults.font.family}`;
    lines.forEach(({ axis, value, label, colour }, index) => {
      const at = chart.scales[axis].getPixelForValue(value);
      pen.strokeStyle = pen.fillStyle = colour;
      pen.setLineDash([4, 4]);
      pen.beginPath();
      if (axis === "x") pen.moveTo(at, top), pen.lineTo(at, bottom);
      else pen.moveTo(left, at), pen.lineTo(right, at);
      pen.stroke();
      if (!label) return;
      const isRight = axis === "x" && at + 6 + pen.measureText(label).width > right;
      pen.textAlign = isRight ? "right" : "left";
      if (axis === "x") pen.fillText(label, at + (isRight ? -6 : 6), top + 12 + 16 * index);
      else pen.fillText(label, left + 6, at - 5);
    });
    pen.restore();
  },
};

/// Boxes along the straight line between two points, for names to keep away from.
function boxesAlong([from, to]) {
  return Array.from({ length: 101 }, (_, step) => {
    const x = from.x + ((to.x - from.x) * step) / 100, y = from.y + ((to.y - from.y) * step) / 100;
    return [x - 1, y - 1, x + 1, y + 1];
  });
}

/// options.plugins.names.texts: a name a point of the first dataset, left out where it would cover another name, a point
/// with its whisker, or the line of another dataset.
const names = {
  id: "names",
  afterDatasetsDraw(chart, _, { texts, colour }) {
    const pen = chart.ctx, area = chart.chartArea, points = chart.getDatasetMeta(0).data;
    const pixel = (value) => chart.scales.y.getPixelForValue(value);
    const taken = points.map(({ x, y }, index) => {
      const [low, high] = chart.data.datasets[0].ranges[index] ?? [];
      return [x - 6, Math.min(y - 6, pixel(high) || y), x + 6, Math.max(y + 6, pixel(low) || y)];
    });
    for (let line = 1; line < chart.data.datasets.length; ++line) taken.push(...boxesAlong(chart.getDatasetMeta(line).data));
    const isFree = ([l, t, r, b]) => l >= area.left && r <= area.right && t >= area.top && b <= area.bottom
      && taken.every(([l2, t2, r2, b2]) => r < l2 || r2 < l || b < t2 || b2 < t);
    pen.save();
    pen.font = `12px ${Chart.defaults.font.family}`;
    pen.fillStyle = colour;
    pen.textBaseline = "top";
    points.forEach(({ x, y }, index) => {
      const width = pen.measureText(texts[index]).width;
      const places = [[x + 9, y - 7], [x - 9 - width, y - 7], [x - width / 2, y - 23], [x - width / 2, y + 10]];
      const place = places.map(([l, t]) => [l, t, l + width, t + 13]).find(isFree);
      if (!place) return;
      taken.push(place);
      pen.fillText(texts[index], place[0], place[1]);
    });
    pen.restore();
  },
};

/// What all charts share; `x` and `y` are Chart.js's scales.
function chartOptions(colour, { x, y, tooltip, plugins }) {
  const scale = ({ title, ...rest }) => ({
    ...rest,
    grid: { color: colour("--grid"), borderColor: colour("--rule"), drawTicks: false, ...rest.grid },
    ticks: { color: colour("--muted"), padding: 6, font: { size: 12 }, ...rest.ticks },
    title: { display: Boolean(title), text: title, color: colour("--muted"), font: { size: 12 } },
  });
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    interaction: { mode: "nearest", intersect: false },
    layout: { padding: { top: 8, right: 8 } },
    scales: { x: scale(x), y: scale(y) },
    plugins: {
      legend: { display: false },
      tooltip: {
        backgroundColor: colour("--text"), titleColor: colour("--ground"), bodyColor: colour("--ground"),
        displayColors: false, padding: 8, ...tooltip,
      },
      ...plugins,
    },
  };
}

/// Contexts on a logarithmic axis, with ticks where there are rows.
function contextScale(contexts) {
  return {
    type: "logarithmic",
    title: "Context, tokens",
    min: Math.min(...contexts) / 1.15,
    max: Math.max(...contexts) * 1.15,
    afterBuildTicks: (axis) => { axis.ticks = contexts.map((value) => ({ value })); },
    ticks: { callback: (value) => tokens(value), maxRotation: 0, autoSkip: true },
  };
}

/// A logarithmic axis with ticks at 1, 2, 5 of each decade, or at 1 alone where there are many.
function logScale(title, low, high, text) {
  const steps = Math.log10(high / low) > 2.5 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
    for (const step of steps) {
      const value = step * 10 ** power;
      if (value >= low && value <= high) ticks.push({ value });
    }
  return {
    type: "logarithmic", title, min: low, max: high,
    afterBuildTicks: (axis) => { axis.ticks = ticks; },
    ticks: { callback: text },
  };
}
