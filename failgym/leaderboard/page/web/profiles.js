// Performance profiles of the chosen policies.

const THRESHOLDS = Array.from({ length: 61 }, (_, i) => -50 + 2.5 * i);

function setUpProfiles() {
  const section = byId("profiles");
  const choice = environmentChoice(section, true, () => render());
  const render = () => {
    const fields = choice.fields().map((f) => state.board.fields[f]);
    const lines = chosenPolicies().flatMap(([p, place]) => {
      const cells = fields.map((field) => [field.cells[p], field.number]);
      const complete = cells.length > 0 && cells.every(([cell]) => cell);
      return complete ? profileLines(p, place, profile(cells, THRESHOLDS)) : [];
    });
    const [box] = boxes(section, 1);
    draw(box, "Performance profiles of the chosen policies", lines, {
      height: narrow() ? 320 : 420,
      hovermode: narrow() ? "closest" : "x unified",
      xaxis: axis("Score τ of a slice", { range: [-50, 100] }),
      yaxis: axis("Share of slices with a score above τ", { range: [0, 1.01], tickformat: ".0%" }),
    });
  };
  drawWhenChanged(section, render, ["forecast", "environment", "chosen", "theme"]);
}

function profileLines(p, place, { value, low, high }) {
  const name = plain(shortened(state.board.policies[p].name));
  const of = { type: "scatter", x: THRESHOLDS, mode: "lines", name };
  const edge = { ...of, line: { width: 0 }, hoverinfo: "skip" };
  return [
    { ...edge, y: low },
    { ...edge, y: high, fill: "tonexty", fillcolor: transparent(colour(place), 0.14) },
    {
      ...of,
      y: value,
      line: { color: colour(place), width: 2.5, dash: DASHES[place] },
      hovertemplate: "%{y:.0%}",
    },
  ];
}
