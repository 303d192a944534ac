// Columns of the ranking: over all environments, or of one.

const AGGREGATES = {
  iqm: ["IQM", "Interquartile mean: of the middle half of environments and training runs"],
  mean: ["Mean", "Mean over environments"],
  median: ["Median", "Median over environments"],
  optimality_gap: ["Gap", "Optimality gap: how far runs fall short of the bound; lower is better"],
};

// The sign behind a score over little room.
const MARK = "*";

// Of an estimate: `value` sorts, `cell` shows.
function estimateColumn(key, label, title, estimate, { lead = false, ascending = false } = {}) {
  return {
    key,
    label,
    title,
    ascending,
    lead,
    value: (p) => estimate(p).value,
    estimate,
    cell: (p) => estimateCell(estimate(p)),
  };
}

function numberColumn(key, label, title, value, show, ascending = true) {
  return { key, label, title, ascending, value, cell: (p) => [show(value(p))] };
}

function estimateCell(estimate) {
  if (!Number.isFinite(estimate.value)) return ["–"];
  return [
    element("b", {}, fixed(estimate.value)),
    element("small", {}, Number.isFinite(estimate.low) || estimate.units < FEW ? rangeText(estimate) : " "),
  ];
}

// The score of a policy in a field, or why it has none.
function scoreCell(f, p) {
  const { board } = state;
  const { nothing, little } = board.fields[f];
  if (board.failure(f, p)) return [failed(board.failure(f, p))];
  if (nothing && board.counted(f, p).runs) return [element("small", { title: nothing }, "nothing to gain here")];
  const cell = estimateCell(board.score(f, p));
  if (little && cell.length > 1) cell[0].append(element("sup", { title: little }, MARK));
  return cell;
}

const environments = () => [...new Set(state.board.fields.map(({ env }) => env))];

// What is meant by all environments: those that are played with the forecasts that are shown.
function allLabel() {
  const [shown, all] = [shownFields().length, environments().length];
  return shown === all ? `All ${all}` : `${shown} of ${all}: all with these forecasts`;
}

function columns() {
  return state.environment ? oneEnvironment() : allEnvironments();
}

// A rank by score, and those that it may be; where there is none, why, if that can be said.
function rankColumn(of, title, why = () => null) {
  const range = ({ low, high }) => (low === high ? "surely" : `${whole(low)} to ${whole(high)}`);
  const cell = (rank, p) => {
    if (!Number.isFinite(rank.value)) return ["–", why(p)];
    const small = Number.isFinite(rank.low) ? range(rank) : " ";
    return [element("b", {}, whole(rank.value)), element("small", {}, small)];
  };
  const value = (p) => of(p).value;
  return { key: "rank", label: "Rank", title, ascending: true, value, cell: (p) => cell(of(p), p) };
}

const RANKED = ", and the ranks that it may have: 95 % sets";

// Environments in which a policy has no score, and so none over all.
const unscored = (p) => shownFields().filter((f) => !state.board.counted(f, p).runs);

// Why a policy has no rank over all environments.
function noRank(p) {
  const { board } = state;
  const said = unscored(p).map((f) => {
    const how = board.failure(f, p)?.status ?? "not played";
    return `${how} in ${shortEnvironment(board.fields[f].env)}`;
  });
  if (!said.length) return null;
  const short = said.length === 1 ? said[0] : `no score in ${said.length} of ${shownFields().length}`;
  return element("small", { title: `No rank over all: ${said.join(", ")}` }, short);
}

// Environments with little to gain which numbers over all hold.
const heldWithLittle = () =>
  shownFields().map((f) => state.board.fields[f]).filter(({ little }) => little).map(({ env }) => shortEnvironment(env));

function allEnvironments() {
  const { board, forecast } = state;
  const held = heldWithLittle().join(", ");
  const warning = held ? `It holds ${held}, where there is little to gain` : "";
  const over = board.aggregates.map((name, a) => {
    const [label, title] = AGGREGATES[name];
    const options = { lead: a === 0, ascending: name === "optimality_gap" };
    return estimateColumn(name, label, title, (p) => board.overall(forecast, p, a), options);
  });
  const each = shownFields().map((f) => {
    const { env } = board.fields[f];
    const label = shortEnvironment(env);
    const title = `Score in ${env}: 0 is replay, 100 the bound`;
    return {
      ...estimateColumn(env, label, title, (p) => board.score(f, p)),
      cell: (p) => scoreCell(f, p),
    };
  });
  const rank = rankColumn((p) => board.overallRank(forecast, p), `Rank by mean score${RANKED}`, noRank);
  return [...[...over, rank].map((column) => ({ ...column, warning })), ...each];
}

function oneEnvironment() {
  const { board } = state;
  const [f] = fieldsInView();
  if (f === undefined) return [];
  const score = {
    ...estimateColumn("score", "Score", "0 is replay, 100 the bound", (p) => board.score(f, p), {
      lead: true,
    }),
    cell: (p) => scoreCell(f, p),
  };
  const rank = rankColumn((p) => board.rank(f, p), `Rank by score${RANKED}`);
  return [score, rank, ...VIEWS[state.view].columns(f)];
}

// Which columns of one environment stand behind score and rank.
const VIEWS = {
  gains: { label: "Hours and tasks", columns: gains },
  robust: { label: "Robust figures", columns: robust },
  costs: { label: "Cost by term", columns: costs },
  counts: { label: "Counts", columns: counts },
};

// A figure beside the score; where it is defined for nobody, the title says why.
function figureColumn(f, name, label, title, show, ascending) {
  const { board } = state;
  const why = board.fields[f].undefined[name];
  const shown = (value) => (Number.isFinite(value) ? show(value) : "–");
  const said = why ? `${title}. Not defined where ${why}` : title;
  return numberColumn(name, label, said, (p) => board.beside(f, p, name), shown, ascending);
}

const hours = (value) => grouped(value);
const percent = (share) => `${fixed(100 * share)} %`;

function gains(f) {
  const of = (...column) => figureColumn(f, ...column);
  return [
    of("saved_hours", "Machine-hours saved", "Machine-time wasted, or spent on checkpoints and restores: replay's less the policy's", hours, false),
    of("saved_completion_hours", "Hours saved", "Completion time, with or without a price: replay's less the policy's", hours, false),
    of("forfeited_per_thousand", "Forfeited / 1,000", "Tasks of a thousand that have a value and do not finish, under replay too; where tasks have none, that the record finishes and the policy does not", fixed, true),
    of("false_kills_per_thousand", "False kills / 1,000", "Tasks of a thousand that the record finishes and the policy killed", fixed, true),
    of("drawn_share", "Drawn", "Share of what was saved and lost that rests on attempts beyond the record", percent, true),
  ];
}

function robust(f) {
  const of = (...column) => figureColumn(f, ...column);
  const two = (value) => fixed(value, 3);
  return [
    of("winsorised_score", "Winsorised", "The score with what is saved, and what can be, cut at 1 % and 99 % of blocks or traces", fixed, false),
    of("mean_log_cost_ratio", "Log cost", "Mean over blocks or traces of ln(cost / replay's); below 0 is cheaper", two, true),
    of("iqm_of_traces", "IQM of traces", "Interquartile mean of the scores of traces", fixed, false),
    priceColumn(f),
    of("drawn_share", "Drawn", "Share of what was saved and lost that rests on attempts beyond the record", percent, true),
  ];
}

// Between which ranks by cost it lies as prices change.
function priceColumn(f) {
  const { prices, priceRanks, readers } = state.board.fields[f];
  const shown = (p) => {
    const ranks = [...priceRanks[p]];
    if (!ranks.length || !ranks.every(Number.isFinite)) return ["–"];
    const [least, most] = [Math.min(...ranks), Math.max(...ranks)];
    const range = least === most ? whole(least) : `${whole(least)} to ${whole(most)}`;
    return readers.includes(p) ? [range, element("sup", { title: READS }, READER)] : [range];
  };
  return {
    key: "prices",
    label: "Rank at prices",
    title: `Lowest and highest rank by cost, prices being: ${prices.join("; ") || "not known"}`,
    ascending: true,
    value: (p) => (prices.length ? Math.max(...priceRanks[p]) : NaN),
    cell: shown,
  };
}

const READER = "†"; // behind what may play otherwise at other prices
const READS = "It may play otherwise at other prices: its cost there is that of the play at these";

function costs(f) {
  const { board } = state;
  return board.terms.map((name, t) =>
    numberColumn(
      name,
      sentence(name),
      `Cost of ${name}, in per cent of all that replay costs`,
      (p) => board.costs(f, p)[t],
      (share) => (Number.isFinite(share) ? `${fixed(share)} %` : "–"),
    ),
  );
}

function counts(f) {
  const { board } = state;
  const counted = (name) => (p) => (board.counted(f, p).runs ? board.counted(f, p)[name] : NaN);
  const perDecision = (p) => (1e6 * counted("seconds")(p)) / counted("decisions")(p);
  const number = (value) => (Number.isFinite(value) ? whole(value) : "–");
  return [
    numberColumn("runs", "Runs", "Training runs", counted("runs"), number, false),
    numberColumn("decisions", "Decisions", "Asked, in all runs", counted("decisions"), number),
    numberColumn("illegal", "Illegal", "Actions that the mask forbade", counted("illegal"), number),
    numberColumn("speed", "µs / decision", "Engine and policy, as stated by the submitter", perDecision, number),
  ];
}

const failed = ({ status, episodes, reason }) =>
  element("span", { class: "failed", title: `${episodes} episodes: ${reason}` }, status);
