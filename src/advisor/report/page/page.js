// The page: its sections in order; colours follow the system's, and are light on paper.

const SECTIONS = [
  ["summary", "Five numbers", summarySection],
  ["guidelines", "Guidelines", guidelineSection],
  ["share", "Attention’s share", shareSection],
  ["parts", "Time per part", partsSection],
  ["roofline", "Roofline", rooflineSection],
  ["sweeps", "Sweeps", sweepSection],
  ["plans", "Plans", planSection],
  ["workload", "Workload", workloadSection],
  ["inputs", "Inputs", inputSection],
  ["provenance", "Provenance", provenanceSection],
  ["assumptions", "Assumptions", assumptionSection],
];

function buildPage(codesign) {
  const page = document.getElementById("page");
  const links = SECTIONS.map(([id, title]) => element("li", null, element("a", { href: `#${id}` }, title)));
  page.replaceChildren(titleBlock(codesign), element("nav", { "aria-label": "Sections" }, element("ol", null, links)),
    ...SECTIONS.map(([id, title, build]) => element("section", { id, "aria-labelledby": `${id}-title` },
      element("h2", { id: `${id}-title` }, title), build(codesign))));
}

function followColours() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let folded = [];
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.paper = "";
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
    drawAll();
  });
  addEventListener("afterprint", () => {
    delete document.documentElement.dataset.paper;
    for (const details of folded) details.open = false;
    drawAll();
  });
}

buildPage(record(JSON.parse(document.getElementById("codesign").textContent)));
followColours();
drawAll();
