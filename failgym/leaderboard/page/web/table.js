// The ranking: filtered, sorted, with an interval drawn in its leading column.

const CODE_NOTE = "code, unverified for foresight";
const KINDS = { baseline: "baseline", agent: "agent", code: CODE_NOTE };

const PROOFS = ["verified", "replayed", "claimed"]; // the strongest first

function renderTable() {
  const shown = columns();
  if (state.sort.key !== "name" && !shown.some(({ key }) => key === state.sort.key)) {
    state.sort = { key: shown[0]?.key ?? "name", descending: !shown[0]?.ascending };
  }
  const rows = sortedPolicies(shown);
  const scale = whiskerScale(rows, shown);
  const limit = state.all ? rows.length : SHOWN;
  const [head] = document.querySelectorAll("#table thead");
  const [body] = document.querySelectorAll("#table tbody");
  const focused = document.activeElement?.closest("#table")
    ? document.activeElement.dataset.key
    : undefined;
  head.replaceChildren(headRow(shown));
  body.replaceChildren(
    ...rows.slice(0, limit).flatMap((p, rank) => [
      row(p, rank, shown, scale),
      ...(state.open.has(p) ? [detailsRow(p, shown.length + 1)] : []),
    ]),
  );
  if (!rows.length) body.append(nothing(shown.length + 1));
  renderMore(rows.length, limit);
  byId("count").textContent = `${rows.length} of ${state.board.policies.length} policies`;
  byId("meaning").textContent = meaning();
  if (focused) document.querySelector(`#table [data-key="${CSS.escape(focused)}"]`)?.focus();
}

// Policies that pass the filter, in order; what has no number comes last.
function sortedPolicies(shown) {
  const { key, descending } = state.sort;
  const column = shown.find((each) => each.key === key);
  const name = (p) => state.board.policies[p].name;
  const byName = (a, b) => names.compare(name(a), name(b));
  const kept = state.board.policies.map((_, p) => p).filter(passes);
  if (!column) return kept.sort((a, b) => (descending ? byName(b, a) : byName(a, b)));
  const values = new Map(kept.map((p) => [p, column.value(p)]));
  return kept.sort((a, b) => {
    const [x, y] = [values.get(a), values.get(b)];
    const [noX, noY] = [!Number.isFinite(x), !Number.isFinite(y)];
    if (noX || noY) return noX - noY || byName(a, b);
    return (descending ? y - x : x - y) || byName(a, b);
  });
}

function passes(p) {
  const { kind, text } = state;
  const policy = state.board.policies[p];
  if ((kind && policy.kind !== kind) || !played(p)) return false;
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched(policy).includes(word));
}

// Whether there is anything to show: policies made for one environment are not played in others.
function played(p) {
  const { board } = state;
  return fieldsInView().some((f) => board.counted(f, p).runs > 0 || board.failure(f, p));
}

function searched(policy) {
  policy.searched ??= [
    policy.name,
    KINDS[policy.kind] ?? policy.kind,
    ...policy.runs.flatMap((run) => [run.command, ...Object.values(run.specs)]),
  ]
    .join("\n")
    .toLowerCase();
  return policy.searched;
}

function headRow(shown) {
  const header = (key, label, title, ascending, warning) => {
    const active = state.sort.key === key;
    const order = active ? (state.sort.descending ? "descending" : "ascending") : "none";
    const sort = () => {
      const descending = active ? !state.sort.descending : !ascending;
      state.sort = { key, descending };
      changed("table");
    };
    const said = warning ? `${title}. ${warning}` : title;
    const mark = warning ? element("sup", {}, MARK) : null;
    const button = element("button", { type: "button", title: said, onclick: sort, "data-key": key }, label, mark);
    return element("th", { scope: "col", "aria-sort": order }, button);
  };
  const [name, ...rest] = [
    header("name", "Policy", "Name", true),
    ...shown.map((each) => header(each.key, each.label, each.title, each.ascending, each.warning)),
  ];
  name.className = "name";
  return element("tr", {}, name, ...rest);
}

function row(p, rank, shown, scale) {
  const policy = state.board.policies[p];
  const place = state.chosen.indexOf(p);
  const pick = element("input", {
    type: "checkbox",
    checked: place >= 0,
    "data-key": `pick-${p}`,
    "aria-label": `Show ${policy.name} in the charts`,
    onchange: () => toggleChosen(p),
  });
  if (place >= 0) pick.style.accentColor = colour(place);
  pick.disabled = place < 0 && !state.chosen.includes(null);
  const name = element("th", { scope: "row", class: "name" });
  const lines = element("div", {}, element("span", { class: "rank" }, String(rank + 1)), pick);
  lines.append(element("span", {}, detailsButton(p), kindMark(policy.kind), proofMark(p)));
  name.append(lines);
  const cells = shown.map((column) => {
    const cell = element("td", { class: column.lead ? "lead" : "" }, ...column.cell(p));
    if (column.lead) cell.append(whisker(column.estimate(p), scale));
    return cell;
  });
  return element("tr", { "data-policy": p }, name, ...cells);
}

function detailsButton(p) {
  const toggle = () => {
    if (!state.open.delete(p)) state.open.add(p);
    changed("table");
  };
  return element(
    "button",
    {
      type: "button",
      class: "link",
      "aria-expanded": String(state.open.has(p)),
      "data-key": `open-${p}`,
      onclick: toggle,
    },
    element("bdi", {}, state.board.policies[p].name),
  );
}

const kindMark = (kind) => element("span", { class: `kind ${kind in KINDS ? kind : ""}` }, KINDS[kind] ?? kind);

// The least of what is proven of the rows in view; one that is only claimed says so for all.
function proofMark(p) {
  const { board } = state;
  const found = new Set(fieldsInView().map((f) => board.proof(f, p)));
  const proof = [...PROOFS].reverse().find((each) => found.has(each)) ?? "claimed";
  return element("span", { class: `kind proof ${proof}`, title: board.meanings[proof] }, proof);
}

// From the least to the greatest end of an interval; the clearest part if some are far off.
function whiskerScale(rows, shown) {
  const lead = shown.find((column) => column.lead);
  const ends = rows.flatMap((p) => {
    const { value, low, high } = lead ? lead.estimate(p) : {};
    return [low, value, high].filter(Number.isFinite);
  });
  const least = ends.reduce((a, b) => Math.min(a, b), 0);
  const most = ends.reduce((a, b) => Math.max(a, b), OPTIMUM);
  return [Math.max(least, -OPTIMUM), Math.min(most, 2 * OPTIMUM)];
}

function whisker({ value, low, high }, [least, most]) {
  const place = (score) => {
    const share = (score - least) / (most - least);
    return `${100 * Math.min(Math.max(share, 0), 1)}%`;
  };
  const track = element("span", { class: "whisker", "aria-hidden": "true" });
  const mark = (name, left, right) => {
    const made = element("i", { class: name });
    made.style.left = left;
    if (right) made.style.width = `calc(${right} - ${left})`;
    track.append(made);
  };
  mark("zero", place(0));
  if (Number.isFinite(low)) mark("range", place(low), place(high));
  if (Number.isFinite(value)) mark("dot", place(value));
  return track;
}

function nothing(width) {
  return element("tr", {}, element("td", { colspan: width, class: "nothing" }, "No policy to show."));
}

function renderMore(count, limit) {
  const show = () => {
    state.all = true;
    changed("table");
  };
  const more = count > limit
    ? [element("button", { type: "button", onclick: show }, `Show all ${whole(count)}`)]
    : [];
  byId("more").replaceChildren(...more);
}

// Environments that "all" leaves out: they are not played with such forecasts.
function leftOut() {
  const shown = shownFields().map((f) => state.board.fields[f].env);
  const others = environments().filter((env) => !shown.includes(env)).map(shortEnvironment);
  if (!others.length) return "";
  const kind = state.board.forecasts[state.forecast];
  return ` Without ${others.join(", ")}: not played with forecast "${kind}".`;
}

const OVER_ALL = "IQM, mean, median, gap and rank";

// How many of the policies in view are not ranked over all.
function unranked() {
  const count = state.board.policies.map((_, p) => p).filter((p) => passes(p) && unscored(p).length).length;
  if (!count) return "";
  return ` ${whole(count)} ${count === 1 ? "policy has" : "policies have"} no rank: below the dash stands why.`;
}

function meaning() {
  const { fields } = state.board;
  const shown = fieldsInView().map((f) => fields[f]);
  const view = shown.filter(({ nothing }) => !nothing).map(({ env }) => shortEnvironment(env));
  const without = shown.filter(({ nothing }) => nothing);
  const nothing = without.map((field) => `${shortEnvironment(field.env)}: ${field.nothing}. `).join("");
  const marked = shown.filter(({ little }) => little);
  const little = marked.map((field) => `${MARK} ${shortEnvironment(field.env)}: ${field.little}. `).join("");
  const held = state.environment || !marked.length ? "" : `${MARK} ${OVER_ALL} hold ${heldWithLittle().join(", ")}, too. `;
  const few = shown.some((field) => field.block_traces.length < FEW)
    ? ` An interval of fewer than ${FEW} units says little: their number is behind it.`
    : "";
  const none = `${state.environment} has no such forecasts. `;
  const all =
    `${OVER_ALL} are over ${view.length} environments (${view.join(", ")}), ` +
    `of policies that have a score in each.${leftOut()}${unranked()} `;
  const start = state.environment ? (shown.length ? "" : none) : all;
  return (
    `${state.opened}${start}${nothing}${little}${held}A score is 100 (replay − policy) / (replay − bound), a ratio of sums of costs over slices: ` +
    "0 is doing nothing, 100 the bound of a clairvoyant. Below: 95 % bootstrap intervals over " +
    "traces, then units (blocks of jobs that follow each other, wherever their tasks lie; of " +
    "neighbouring slices where tasks share machines) and training runs, which end at 100. One trace " +
    `says nothing of the next, nor one training run.${few}`
  );
}
