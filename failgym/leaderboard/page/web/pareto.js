// What savings of machine-time cost in tasks forfeited and in hours of completion.

const GIVEN_UP = [
  ["forfeited_per_thousand", "Tasks forfeited", "tasks forfeited of 1,000", (value) => value],
  ["saved_completion_hours", "Hours of completion lost", "hours of completion lost", (value) => -value],
];

// Those that no other one beats in one of the two without falling behind in the other, by x.
function pareto(points) {
  const ordered = [...points].sort((a, b) => a.x - b.x || b.y - a.y);
  let most = -Infinity;
  return ordered.filter(({ y }) => {
    const better = y > most;
    most = Math.max(most, y);
    return better;
  });
}

function drawPareto(box, f, [name, title, axisTitle, sign]) {
  const { board } = state;
  const points = board.policies
    .map((_, p) => ({ p, x: sign(board.beside(f, p, name)), y: board.beside(f, p, "saved_hours") }))
    .filter(({ x, y }) => Number.isFinite(x) && Number.isFinite(y));
  const said = ({ p }) => `<b>${plain(board.policies[p].name)}</b><br>score ${fixed(board.score(f, p).value)}`;
  const marks = (shown, more) => ({
    type: "scatter",
    mode: "markers",
    x: shown.map(({ x }) => x),
    y: shown.map(({ y }) => y),
    text: shown.map(said),
    customdata: shown.map(({ p }) => p),
    hovertemplate: `%{text}<br>%{y:,.1f} machine-hours saved<br>%{x:,.1f} ${axisTitle}<extra></extra>`,
    ...more,
  });
  const front = pareto(points);
  const line = {
    type: "scatter",
    mode: "lines",
    x: front.map(({ x }) => x),
    y: front.map(({ y }) => y),
    line: { shape: "hv", color: variable("--muted"), dash: "dot", width: 1.5 },
    hoverinfo: "skip",
  };
  const others = points.filter(({ p }) => !state.chosen.includes(p) && passes(p));
  const chosen = chosenPolicies().flatMap(([p, place]) => {
    const marker = { color: colour(place), size: 11, symbol: SYMBOLS[place] };
    return points.filter((point) => point.p === p).map((point) => marks([point], { marker }));
  });
  const grey = { color: variable("--muted"), size: 6, opacity: 0.5 };
  draw(box, `${shortEnvironment(board.fields[f].env)}: machine-hours saved against ${axisTitle}`, [line, marks(others, { marker: grey }), ...chosen], {
    height: 290,
    title: { text: title, font: { size: 14 }, x: 0.02, xanchor: "left" },
    xaxis: axis(axisTitle),
    yaxis: axis("machine-hours saved"),
  });
}
