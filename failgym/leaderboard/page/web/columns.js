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
  if (little && cell.length > 1) cell.splice(1, 0, element("sup", { title: little }, MARK));
  return cell;
}

function columns() {
  return state.environment ? oneEnvironment() : allEnvironments();
}

function allEnvironments() {
  const { board, forecast } = state;
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
  return [...over, ...each];
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
  const terms = board.terms.map((name, t) =>
    numberColumn(
      name,
      sentence(name),
      `Cost of ${name}, in per cent of all that replay costs`,
      (p) => board.costs(f, p)[t],
      (share) => (Number.isFinite(share) ? `${fixed(share)} %` : "–"),
    ),
  );
  const counted = (name) => (p) => (board.counted(f, p).runs ? board.counted(f, p)[name] : NaN);
  const perDecision = (p) => (1e6 * counted("seconds")(p)) / counted("decisions")(p);
  const number = (value) => (Number.isFinite(value) ? whole(value) : "–");
  return [
    score,
    ...terms,
    numberColumn("runs", "Runs", "Training runs", counted("runs"), number, false),
    numberColumn("decisions", "Decisions", "Asked, in all runs", counted("decisions"), number),
    numberColumn("illegal", "Illegal", "Actions that the mask forbade", counted("illegal"), number),
    numberColumn("speed", "µs / decision", "Engine and policy, as stated by the submitter", perDecision, number),
  ];
}

const failed = ({ status, episodes, reason }) =>
  element("span", { class: "failed", title: `${episodes} episodes: ${reason}` }, status);
