// Rank by cost at other prices, in one environment.

function setUpPrices() {
  const section = byId("prices");
  const choice = environmentChoice(section, false, () => render());
  const render = () => drawPrices(boxes(section, 1)[0], choice.fields()[0]);
  drawWhenChanged(section, render, ["forecast", "environment", "chosen", "theme"]);
}

function drawPrices(box, f) {
  const { board } = state;
  const { prices, priceRanks, readers, env } = board.fields[f];
  const lines = chosenPolicies()
    .filter(([p]) => prices.length && Number.isFinite(priceRanks[p][0]))
    .map(([p, place]) => {
      const name = `${plain(shortened(board.policies[p].name))}${readers.includes(p) ? READER : ""}`;
      return {
        type: "scatter",
        mode: "lines+markers",
        x: prices,
        y: [...priceRanks[p]],
        name,
        line: { color: colour(place), dash: DASHES[place], width: 2 },
        marker: { symbol: SYMBOLS[place], size: 9 },
        hovertemplate: `<b>${name}</b><br>rank %{y}, %{x}<extra></extra>`,
      };
    });
  const none = prices.length ? "" : "The suite is of another version of failgym: its prices are not known here.";
  draw(box, `${shortEnvironment(env)}: ranks at other prices`, lines, {
    height: 320,
    title: { text: none || `Rank in ${shortEnvironment(env)}`, font: { size: 14 }, x: 0.02, xanchor: "left" },
    xaxis: axis("", { type: "category", fixedrange: true }),
    yaxis: axis("rank by cost", { autorange: "reversed", rangemode: "normal", fixedrange: true }),
  });
}
