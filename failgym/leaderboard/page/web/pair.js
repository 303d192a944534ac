// One policy against another, on the same slices.

function setUpPair() {
  const section = byId("pair");
  const choice = environmentChoice(section, false, () => render());
  const selects = [byId("pair-a"), byId("pair-b")];
  const policies = state.board.policies.map(({ name }, p) => [name, p]);
  policies.sort(([a], [b]) => names.compare(a, b));
  selects.forEach((select, side) => {
    select.append(...policies.map(([name, p]) => option(p, name, p === state.pair[side])));
    select.addEventListener("change", () => {
      state.pair[side] = Number(select.value);
      changed("pair");
    });
  });
  byId("swap").addEventListener("click", () => {
    state.pair.reverse();
    changed("pair");
  });
  const showTable = () => renderPairTable(pairRows());
  const render = () => {
    const [forest, scatter] = boxes(section, 2);
    drawForest(forest, pairRows());
    drawSlicePairs(scatter, choice.fields()[0]);
  };
  on(["forecast", "pair"], showTable);
  on(["pair"], () => selects.forEach((select, side) => (select.value = String(state.pair[side]))));
  showTable();
  drawWhenChanged(section, render, ["forecast", "environment", "pair", "theme"]);
}

// One for each environment in which both have a score, and one for all of them.
function pairRows() {
  const { fields } = state.board;
  const [a, b] = state.pair;
  const pairs = shownFields()
    .map((f) => [fields[f], fields[f].cells[a], fields[f].cells[b], fields[f].number])
    .filter(([{ nothing }, x, y]) => !nothing && x && y);
  const compared = (name, of) => ({
    name,
    little: of.map(([{ little }]) => little).filter(Boolean),
    environments: of.length,
    a: average(of.map(([, x]) => average(runScores(x)))),
    b: average(of.map(([, , y]) => average(runScores(y)))),
    difference: difference(of.map(([, x, y, number]) => [x, y, number])),
    better: probabilityOfImprovement(of.map(([, x, y, number]) => [x, y, number])),
  });
  const each = pairs.map((pair) => compared(shortEnvironment(pair[0].env), [pair]));
  return pairs.length > 1 ? [compared(`Mean of ${pairs.length}`, pairs), ...each] : each;
}

function renderPairTable(rows) {
  const [head, body] = byId("pair-table").children;
  const titles = ["Environment", "Score of A", "Score of B", "A − B", "A does better"];
  head.replaceChildren(
    element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title))),
  );
  body.replaceChildren(...rows.map(pairRow));
  byId("verdict").textContent = verdict(rows);
}

function pairRow(row) {
  const share = row.better;
  const { units } = share;
  // Of several environments each has its own row, and there its mark.
  const marks = () =>
    row.environments > 1 ? [] : row.little.map((why) => element("sup", { title: why }, MARK));
  const percent = { value: 100 * share.value, low: 100 * share.low, high: 100 * share.high, units };
  const better = Number.isFinite(share.value)
    ? [element("b", {}, `${fixed(percent.value)} %`), element("small", {}, rangeText(percent))]
    : ["–"];
  return element(
    "tr",
    { class: row.environments > 1 ? "overall" : "" },
    element("th", { scope: "row" }, row.name),
    element("td", {}, fixed(row.a), ...marks()),
    element("td", {}, fixed(row.b), ...marks()),
    element("td", {}, ...estimateCell(row.difference)),
    element("td", {}, ...better),
  );
}

// What the first row says, in words.
function verdict(rows) {
  const [a, b] = state.pair.map((p) => state.board.policies[p].name);
  if (!rows.length) {
    return `${a} and ${b} have no environment in common with these forecasts in which there is something to gain.`;
  }
  const [{ name, environments, difference: found }] = rows;
  const where = environments > 1 ? `on average over ${environments} environments` : `in ${name}`;
  const by = `by ${fixed(Math.abs(found.value))} points (A − B: ${rangeText(found)})`;
  if (found.value === 0) return `A, ${a}, and B, ${b}, score the same ${where}.`;
  const order = found.value > 0 ? `A, ${a}, scores more than B, ${b},` : `B, ${b}, scores more than A, ${a},`;
  const sure = found.low > 0 || found.high < 0;
  const doubt = Number.isFinite(found.low) && !sure ? " The interval holds 0: it may be chance." : "";
  return `${order} ${where}, ${by}.${doubt}`;
}

function drawForest(box, rows) {
  const ink = variable("--accent");
  const known = rows.filter(({ difference: { low } }) => Number.isFinite(low));
  const trace = {
    type: "scatter",
    mode: "markers",
    x: known.map((row) => row.difference.value),
    y: known.map((_, at) => at),
    text: known.map((row) => `${row.name}: ${fixed(row.difference.value)} (${rangeText(row.difference)})`),
    hovertemplate: "%{text}<extra></extra>",
    marker: { color: ink, size: known.map((row) => (row.environments > 1 ? 13 : 9)), symbol: "diamond" },
    error_x: {
      type: "data",
      symmetric: false,
      array: known.map((row) => row.difference.high - row.difference.value),
      arrayminus: known.map((row) => row.difference.value - row.difference.low),
      color: ink,
      thickness: 2,
    },
  };
  draw(box, "Difference of score by environment", [trace], {
    height: 340,
    title: { text: "Difference of score", font: { size: 14 }, x: 0.02, xanchor: "left" },
    xaxis: axis("← B better    A − B    A better →"),
    yaxis: axis("", {
      range: [known.length - 0.4, -0.6],
      tickvals: known.map((_, at) => at),
      ticktext: known.map(({ name }) => name),
      zeroline: false,
      fixedrange: true,
    }),
  });
}

function drawSlicePairs(box, f) {
  const { fields } = state.board;
  const [x, y] = state.pair.map((p) => (fields[f]?.nothing ? null : fields[f]?.cells[p]));
  const env = f === undefined ? "" : shortEnvironment(fields[f].env);
  const scale = x ? (OPTIMUM * x.possible.length) / sum(x.possible) : NaN;
  const [ours, theirs] = [x, y].map((cell) => (cell ? meanRun(cell).map((saved) => saved * scale) : []));
  const both = x && y ? [...ours, ...theirs] : [];
  const ends = [Math.min(...both, 0), Math.max(...both, 1)];
  const line = { color: variable("--muted"), dash: "dot", width: 1.5 };
  const traces = [
    { type: "scatter", mode: "lines", x: ends, y: ends, line, hoverinfo: "skip" },
    {
      type: "scatter",
      mode: "markers",
      x: both.length ? theirs : [],
      y: both.length ? ours : [],
      text: both.length ? fields[f].slices.map(rowName) : [],
      hovertemplate: "%{text}<br>A %{y:.1f}<br>B %{x:.1f}<extra></extra>",
      marker: { color: variable("--accent"), size: 7, opacity: 0.6 },
    },
  ];
  draw(box, `Saved on each slice of ${env}, A against B`, traces, {
    height: 340,
    title: { text: `Saved on each slice, ${env}`, font: { size: 14 }, x: 0.02, xanchor: "left" },
    xaxis: axis("B: % of what can be saved on a mean slice"),
    yaxis: axis("A"),
  });
}
