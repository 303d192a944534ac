// What the reader has chosen, and who is told when it changes.

const PLACES = 8; // policies in the charts at once, each with a colour of its own
const SHOWN = 100; // rows before the reader asks for all

const state = {
  board: null,
  forecast: 0, // number
  environment: "", // name; "" is all
  kind: "",
  view: "gains", // which columns of one environment
  text: "",
  sort: { key: "", descending: true },
  all: false,
  open: new Set(), // policies whose provenance is shown
  chosen: Array(PLACES).fill(null), // policy by place
  pair: [0, 0],
  opened: "", // why it opened where it did, until the reader chooses
};
const listeners = [];

function changed(...what) {
  for (const { topics, listener } of listeners) {
    if (topics.some((topic) => what.includes(topic))) listener();
  }
}

function on(topics, listener) {
  listeners.push({ topics, listener });
}

// Fields of the forecast that is shown.
const shownFields = () => state.board.groups[state.forecast];

// Fields that overall numbers are about: those shown, or the one that is chosen.
function fieldsInView() {
  const { fields } = state.board;
  const all = shownFields();
  return state.environment ? all.filter((f) => fields[f].env === state.environment) : all;
}

function toggleChosen(policy) {
  const place = state.chosen.indexOf(policy);
  const free = state.chosen.indexOf(null);
  if (place >= 0) state.chosen[place] = null;
  else if (free >= 0) state.chosen[free] = policy;
  changed("chosen");
}

// [policy, place] of those in the charts.
const chosenPolicies = () =>
  state.chosen.map((policy, place) => [policy, place]).filter(([policy]) => policy !== null);
