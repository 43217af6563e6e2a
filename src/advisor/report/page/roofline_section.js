// The roofline: how far each kernel is from what memory, tensor cores and exponentials allow.

function roofs(roofline, low, high) {
  const { ridge, compute_flops: compute, memory_bytes_per_s: memory, exp_flops: exponentials } = roofline;
  const bend = isNumber(ridge) ? ridge : compute / memory;
  const lines = [
    { name: "memory", colour: "--text", dash: [24], data: [[low, low * memory], [bend, bend * memory]] },
    { name: "tensor cores", colour: "--text", dash: [24], data: [[bend, compute], [high, compute]] },
  ];
  if (isNumber(exponentials)) {
    const from = Math.min(bend, exponentials / memory);
    lines.push({ name: "exponentials", colour: "--c6", dash: [7, 4], data: [[from, exponentials], [high, exponentials]] });
  }
  return lines;
}

function rooflineConfig(roofline, points) {
  const { compute_flops: compute, memory_bytes_per_s: memory, exp_flops: exponentials } = roofline;
  const bend = isNumber(roofline.ridge) ? roofline.ridge : compute / memory;
  const intensities = [bend, ...points.map((point) => point.intensity)];
  const low = Math.min(...intensities) / 4, high = Math.max(...intensities) * 6;
  const whiskerEnds = points.map((point) => point.flops_per_s * (1 - (point.error ?? 0))).filter((rate) => rate > 0);
  const rates = [low * memory, ...points.map((point) => point.flops_per_s), ...whiskerEnds];
  const top = Math.max(compute, exponentials ?? 0, ...points.map((point) => point.flops_per_s)) * 2.5;
  return (colour) => ({
    type: "scatter",
    plugins: [whiskers, marks, names],
    data: {
      datasets: [
        {
          label: "points",
          data: points.map((point) => ({ x: point.intensity, y: point.flops_per_s })),
          ranges: points.map((point) => range(point.flops_per_s, point.error)),
          borderColor: colour("--c1"),
          ...pointMarks(points, colour("--c1"), colour("--ground")),
        },
        ...roofs(roofline, low, high).map((roof) => ({
          label: roof.name,
          data: roof.data.map(([x, y]) => ({ x, y })),
          showLine: true, pointRadius: 0, pointHitRadius: 0, borderWidth: 2,
          borderColor: colour(roof.colour), borderDash: roof.dash.length > 1 ? roof.dash : [],
        })),
      ],
    },
    options: chartOptions(colour, {
      x: logScale("Intensity, FLOP a byte of memory", low, high, (value) => significant.format(value)),
      y: logScale("Achieved", Math.min(...rates) / 1.5, top, (value) => quantity("flops", value)),
      tooltip: {
        filter: (item) => item.datasetIndex === 0,
        callbacks: {
          label: ({ dataIndex }) => {
            const point = points[dataIndex];
            return [point.name, `${quantity("flops", point.flops_per_s)}, ${worth(point)}`, `limit: ${point.limit ?? "not known"}`];
          },
        },
      },
      plugins: {
        marks: { lines: [{ axis: "x", value: bend, label: `ridge: ${significant.format(bend)}`, colour: colour("--muted") }] },
        names: { texts: points.map((point) => point.name ?? ""), colour: colour("--text") },
      },
    }),
  });
}

function limitOf(point, { compute_flops: compute, memory_bytes_per_s: memory, exp_flops: exponentials }) {
  const limits = { compute, bandwidth: point.intensity * memory, exponentials };
  return limits[point.limit] ?? Math.min(compute, point.intensity * memory);
}

function rooflineTable(points, roofline) {
  const columns = [
    { name: "Point", text: (point) => point.name },
    { name: "Phase", text: (point) => point.phase },
    { name: "Intensity", kind: "intensity", value: (point) => point.intensity },
    { name: "Achieved", kind: "flops", value: (point) => point.flops_per_s },
    { name: "Limit", text: (point) => point.limit },
    { name: "Of the limit", kind: "share", value: (point) => point.flops_per_s / limitOf(point, roofline) },
    worthColumn,
  ];
  return tableBox({ label: "Points of the roofline", columns, rows: points });
}

function rooflineSection(codesign) {
  const roofline = record(codesign.roofline);
  const { compute_flops: compute, memory_bytes_per_s: memory, exp_flops: exponentials } = roofline;
  if (!(compute > 0 && memory > 0)) return [absent("The hardware’s limits are not known, so there is no roofline.")];
  const points = list(roofline.points).filter((point) => point.intensity > 0 && point.flops_per_s > 0);
  const ofExponentials = isNumber(exponentials) ? `${quantity("flops", exponentials)} of attention` : "not known";
  const told = points.map((point) => `${plain(point.name)} ${quantity("flops", point.flops_per_s)}`).join(", ");
  const { figure } = chartFigure({
    id: "chart-roofline",
    note: `The tensor cores’ limit is ${quantity("flops", compute)}, the memory’s ${quantity("bandwidth", memory)}, that of `
      + `exponentials ${ofExponentials}. Left of the ridge memory is the limit, right of it computing.`,
    description: `Roofline with ${points.length} points, both axes logarithmic: ${told}.`,
    config: rooflineConfig(roofline, points),
    entries: roofs(roofline, 1, 1).slice(1).map((roof, at) => (at === 0 ? { ...roof, name: "memory and tensor cores" } : roof)),
    table: points.length > 0 ? rooflineTable(points, roofline) : null,
  });
  return [figure, points.length > 0 ? null : absent("No kernel’s point is known.")];
}
