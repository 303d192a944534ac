// What savings cost, and score against each cost term, in one environment.

const FLOOR = -100; // scores below are drawn at it: far worse than replay is far enough

function setUpTradeoff() {
  const section = byId("tradeoff");
  const choice = environmentChoice(section, false, () => render());
  const render = () => {
    const [f] = choice.fields();
    const { terms } = state.board;
    const all = boxes(section, GIVEN_UP.length + terms.length);
    GIVEN_UP.forEach((given, at) => drawPareto(all[at], f, given));
    terms.forEach((term, t) => drawTradeoff(all[GIVEN_UP.length + t], f, term, t));
    for (const box of all) if (!box.dataset.listens) listen(box);
  };
  drawWhenChanged(section, render, ["forecast", "environment", "chosen", "theme", "filter"]);
}

function listen(box) {
  box.dataset.listens = "yes";
  box.on("plotly_click", ({ points }) => {
    const policy = points[0]?.customdata;
    if (policy !== undefined) toggleChosen(policy);
  });
}

function drawTradeoff(box, f, term, t) {
  const { board } = state;
  const scored = board.policies
    .map((_, p) => p)
    .filter((p) => Number.isFinite(board.score(f, p).value));
  const others = scored.filter((p) => !state.chosen.includes(p) && passes(p));
  const chosen = chosenPolicies().filter(([p]) => scored.includes(p));
  const said = (p) =>
    `<b>${plain(board.policies[p].name)}</b><br>score ${fixed(board.score(f, p).value)}`;
  const points = (policies, more) => ({
    type: "scatter",
    mode: "markers",
    x: policies.map((p) => board.costs(f, p)[t]),
    y: policies.map((p) => Math.max(board.score(f, p).value, FLOOR)),
    text: policies.map((p) => said(p)),
    customdata: policies,
    hovertemplate: `%{text}<br>${term} %{x:.1f} %<extra></extra>`,
    ...more,
  });
  const traces = [
    points(others, { marker: { color: variable("--muted"), size: 6, opacity: 0.5 } }),
    ...chosen.map(([p, place]) => {
      const { value, low, high } = board.score(f, p);
      const [from, to] = [low, high].map((end) => Math.max(end, FLOOR));
      const at = Math.max(value, FLOOR);
      const bars = { array: [to - at], arrayminus: [at - from], symmetric: false };
      const shown = Number.isFinite(low) ? { error_y: { ...bars, thickness: 1.5, width: 3 } } : {};
      const marker = { color: colour(place), size: 11, symbol: SYMBOLS[place] };
      return points([p], { marker, ...shown });
    }),
  ];
  const env = shortEnvironment(board.fields[f].env);
  draw(box, `${env}: score against the cost of ${term}`, traces, {
    height: 290,
    title: { text: sentence(term), font: { size: 14 }, x: 0.02, xanchor: "left" },
    xaxis: axis("% of replay's cost", { rangemode: "tozero" }),
    yaxis: axis("Score"),
  });
}
