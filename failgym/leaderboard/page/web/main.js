// Opens the page: content, controls, table, charts.

const FIRST = 5; // policies in the charts at first
const THEMES = ["", "light", "dark"];

function setUpControls() {
  const { board } = state;
  const forecasts = board.forecasts.map((name, at) => {
    const choose = () => {
      state.forecast = at;
      state.opened = "";
      changed("forecast", "table");
    };
    const input = element("input", { type: "radio", name: "forecast", value: name, onchange: choose });
    return element("label", {}, input, element("span", {}, name));
  });
  byId("forecasts").append(...forecasts);
  const envs = environments();
  const kinds = [...new Set(board.policies.map(({ kind }) => kind))];
  fill("environment", [["", ""], ...envs.map((env) => [env, shortEnvironment(env)])]);
  fill("kind", [["", "All"], ...kinds.map((kind) => [kind, kind])]);
  fill("view", Object.entries(VIEWS).map(([name, { label }]) => [name, label]));
  on(["forecast", "environment"], showControls);
  byId("filter").addEventListener("input", ({ target }) => {
    state.text = target.value.trim();
    changed("filter", "table");
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  showControls();
}

// What the controls say, from the state.
function showControls() {
  const { board, environment } = state;
  for (const input of document.querySelectorAll("#forecasts input")) {
    input.checked = input.value === board.forecasts[state.forecast];
  }
  for (const name of ["environment", "kind", "view"]) byId(name).value = state[name];
  byId("environment").options[0].textContent = allLabel();
  byId("filter").value = state.text;
  byId("view").parentElement.hidden = !environment;
}

function fill(name, choices) {
  const select = byId(name);
  select.append(...choices.map(([value, label]) => option(value, label, value === state[name])));
  select.addEventListener("change", () => {
    state[name] = select.value;
    state.opened = "";
    changed(name === "kind" ? "filter" : name, "table");
  });
}

function setUpTheme() {
  const button = byId("theme");
  const show = () => {
    const theme = document.documentElement.dataset.theme ?? "";
    button.textContent = { "": "Theme: system", light: "Theme: light", dark: "Theme: dark" }[theme];
  };
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme ?? "") + 1) % 3];
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    show();
    changed("theme", "table");
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    changed("theme", "table"),
  );
  show();
}

// The policies in the charts, with their colours.
function renderChosen() {
  const marks = chosenPolicies().map(([p, place]) => {
    const { name } = state.board.policies[p];
    const swatch = element("i", { "aria-hidden": "true" });
    swatch.style.background = colour(place);
    return element(
      "button",
      { type: "button", "aria-label": `Remove ${name} from the charts`, onclick: () => toggleChosen(p) },
      swatch,
      element("bdi", {}, name),
      element("span", { "aria-hidden": "true" }, " ×"),
    );
  });
  const hint = marks.length ? "In the charts:" : "Tick policies in the table to see them in the charts.";
  byId("chosen").replaceChildren(element("span", {}, hint), ...marks);
}

// Over all environments, if most policies have a score there and one is surely first. Or else where
// one is; or, if most were not made for all, where the fewest may be first.
function chooseEnvironment() {
  const { board } = state;
  const scored = (score) => board.policies.filter((_, p) => Number.isFinite(score(p).value)).length;
  const most = 2 * scored((p) => board.overall(state.forecast, p, 0)) >= board.policies.length;
  if (most && perhapsFirst((p) => board.overallRank(state.forecast, p)) === 1) return;
  const doubt = shownFields().map((f) => (trusted(f) ? perhapsFirst((p) => board.rank(f, p)) : Infinity));
  const least = Math.min(...doubt);
  if (least === 1 || (!most && Number.isFinite(least))) {
    state.environment = board.fields[shownFields()[doubt.indexOf(least)]].env;
    const why = least === 1 ? "one policy is surely first" : `the fewest, ${least}, may be first`;
    state.opened = `The page opens on ${shortEnvironment(state.environment)}, where ${why}. `;
  } else if (!most) {
    const counts = shownFields().map((f) => scored((p) => board.score(f, p)));
    state.environment = board.fields[shownFields()[counts.indexOf(Math.max(...counts))]].env;
  }
}

// How many policies may be the first of several; Infinity if nobody knows.
function perhapsFirst(rank) {
  const ranks = state.board.policies.map((_, p) => rank(p)).filter(({ low }) => Number.isFinite(low));
  return ranks.length > 1 ? ranks.filter(({ low }) => low === 1).length : Infinity;
}

// Is there something to gain, over units that are not few?
function trusted(f) {
  const { nothing, little, block_traces } = state.board.fields[f];
  return !nothing && !little && block_traces.length >= FEW;
}

// The best of the first view go into the charts, and meet as a pair.
function chooseFirst() {
  chooseEnvironment();
  const shown = columns();
  state.sort = { key: shown[0].key, descending: !shown[0].ascending };
  const best = sortedPolicies(shown);
  const scored = best.filter((p) => Number.isFinite(shown[0].value(p)));
  scored.slice(0, FIRST).forEach((p, place) => (state.chosen[place] = p));
  state.pair = [best[0], best[1] ?? best[0]];
}

function summary() {
  const { board } = state;
  const count = (number, one, many) => `${whole(number)} ${number === 1 ? one : many}`;
  const envs = environments().length;
  return [
    `Suite ${board.suite}`,
    count(board.policies.length, "policy", "policies"),
    count(envs, "environment", "environments"),
    `written by failgym ${board.failgym}`,
  ].join(" · ");
}

async function open() {
  const notice = byId("notice");
  try {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser is too old: it has no DecompressionStream");
    }
    state.board = await unpack(byId("content").textContent);
  } catch (error) {
    notice.textContent = `The page cannot be read: ${error.message}`;
    return;
  }
  chooseFirst();
  plainState = written();
  if (location.hash.includes("=")) {
    state.opened = "";
    readAddress();
  }
  byId("summary").textContent = summary();
  setUpTheme();
  setUpControls();
  on(["table", "chosen"], renderTable);
  on(["table"], renderRoom);
  on(["chosen", "theme"], renderChosen);
  setUpAddress();
  renderTable();
  renderRoom();
  renderChosen();
  notice.hidden = true;
  byId("main").hidden = false;
  performance.mark("failgym-open");
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", setUpCharts);
  else setUpCharts();
}

function setUpCharts() {
  for (const setUp of [setUpTradeoff, setUpPrices, setUpProfiles, setUpSlices, setUpPair]) setUp();
  setUpPrinting();
  drawSoon(() => (document.documentElement.dataset.ready = "yes"));
}

open();
