// The score on each slice, of the chosen policies, in one environment.

const EDGE = [-100, 110]; // scores of slices beyond these are drawn at the edge

function setUpSlices() {
  const section = byId("slices");
  const choice = environmentChoice(section, false, () => render());
  const render = () => {
    const [f] = choice.fields();
    const chosen = chosenPolicies().filter(([p]) => state.board.fields[f]?.cells[p]);
    const [box] = boxes(section, 1);
    const row = narrow() ? 64 : 56;
    draw(box, "Score on each slice of the chosen policies", chosen.flatMap(strip(f)), {
      height: 110 + row * Math.max(chosen.length, 1),
      margin: { l: narrow() ? 12 : 48, r: 12, t: 24, b: 44 },
      xaxis: axis("Score of a slice", { range: [EDGE[0] - 6, EDGE[1] + 6] }),
      yaxis: axis("", {
        range: [chosen.length - 0.4, -0.6],
        tickvals: chosen.map((_, at) => at),
        ticktext: chosen.map(([p]) => plain(shortened(state.board.policies[p].name, narrow() ? 14 : 32))),
        zeroline: false,
        showgrid: false,
        fixedrange: true,
      }),
      shapes: chosen.flatMap(([p, place], at) => quartileBox(state.board.fields[f].cells[p], place, at)),
    });
  };
  drawWhenChanged(section, render, ["forecast", "environment", "chosen", "theme"]);
}

const strip = (f) => ([p, place], at) => {
  const field = state.board.fields[f];
  const scores = [...sliceScores(field.cells[p])];
  const kept = scores.map((_, i) => i).filter((i) => !Number.isNaN(scores[i]));
  const jitter = generator(1 + p);
  const said = (i) => `${rowName(field.slices[i % field.slices.length])}: ${fixed(scores[i])}`;
  return {
    type: "scatter",
    mode: "markers",
    x: kept.map((i) => Math.min(Math.max(scores[i], EDGE[0]), EDGE[1])),
    y: kept.map(() => at + 0.36 * (jitter() - 0.5)),
    text: kept.map(said),
    hovertemplate: `<b>${plain(state.board.policies[p].name)}</b><br>%{text}<extra></extra>`,
    marker: { color: colour(place), size: 6, opacity: 0.55, symbol: SYMBOLS[place] },
  };
};

function quartileBox(cell, place, at) {
  const sorted = [...sliceScores(cell)].filter((score) => !Number.isNaN(score)).sort((a, b) => a - b);
  if (!sorted.length) return [];
  const inside = (share) => Math.min(Math.max(percentile(sorted, share), EDGE[0]), EDGE[1]);
  const [low, middle, high] = [0.25, 0.5, 0.75].map(inside);
  const line = { color: colour(place), width: 1.5 };
  return [
    { type: "rect", x0: low, x1: high, y0: at - 0.3, y1: at + 0.3, line },
    { type: "line", x0: middle, x1: middle, y0: at - 0.3, y1: at + 0.3, line: { ...line, width: 3 } },
  ];
}
