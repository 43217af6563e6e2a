// A card for each guideline: its verdict, why, what following it would gain, and what must be checked first.

function gainsTable(guideline) {
  const columns = [
    { name: "Change", text: (gain) => gain.change },
    { name: "Phase", text: (gain) => gain.phase },
    { name: "Context", kind: "count", text: (gain) => tokens(gain.context) },
    { name: "Attention", kind: "times", value: (gain) => gain.ratio_attention },
    { name: "Whole step", kind: "times", value: (gain) => gain.ratio_total },
    worthColumn,
  ];
  return tableBox({ label: `Gains, ${plain(guideline.name)}: how many times as fast`, columns, rows: list(guideline.gains) });
}

function guidelineCard(guideline) {
  const line = (name, text) => (known(text) ? [element("dt", null, name), element("dd", null, plain(text))] : []);
  return element("article", { class: "card" },
    element("h3", null, sentence(plain(guideline.name)), verdict(plain(guideline.verdict))),
    known(guideline.reason) ? element("p", null, plain(guideline.reason)) : null,
    element("dl", null, line("Gain", guideline.gain), line("To check", guideline.check)),
    list(guideline.gains).length > 0 ? foldedTable("Gains by phase and context", gainsTable(guideline)) : null);
}

function guidelineSection(codesign) {
  const guidelines = list(codesign.guidelines);
  if (guidelines.length === 0) return [absent("No guideline was judged.")];
  return [element("div", { class: "cards" }, guidelines.map(guidelineCard))];
}
