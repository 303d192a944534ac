// Rank by cost at other prices, in one environment.

function setUpPrices() {
  const section = byId("prices");
  const choice = environmentChoice(section, false, () => render());
  const render = () => drawPrices(boxes(section, 1)[0], choice.fields()[0]);
  drawWhenChanged(section, render, ["forecast", "environment", "chosen", "theme"]);
}

const LINE = 8; // letters of a price in one line, so that five fit beside each other on a phone

// A price in short lines, broken between words only: a factor stays with its sign.
function inLines(price) {
  const words = price.replaceAll("× ", "×\u00a0").split(" ");
  const lines = [words.shift()];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length > LINE) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.map(plain).join("<br>");
}

// Ranks that an axis names, the first always; and its ends, the best on top.
function rankAxis(ranks) {
  const last = Math.max(1, ...ranks);
  const step = [1, 2, 5, 10, 20, 50].find((each) => last / each <= 8) ?? 100;
  const named = Array.from({ length: Math.floor(last / step) }, (_, at) => (at + 1) * step);
  const room = Math.max(0.5, last / 20);
  return { tickvals: [...new Set([1, ...named])], range: [last + room, 1 - room] };
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
    xaxis: axis("", { type: "category", fixedrange: true, tickangle: 0, tickvals: prices, ticktext: prices.map(inLines) }),
    yaxis: axis("rank by cost", { ...rankAxis(lines.flatMap(({ y }) => y)), zeroline: false, fixedrange: true }),
  });
}
