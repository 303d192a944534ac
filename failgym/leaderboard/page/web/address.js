// What the reader has chosen stands in the address of the page, behind "#": it can be passed on.

// What is written of the state, by its name in the address. A name that is not known here is left
// out when an address is read: it may be of a page with other policies.
const ADDRESSED = {
  forecast: {
    write: () => state.board.forecasts[state.forecast],
    read: (text) => {
      const at = state.board.forecasts.indexOf(text);
      if (at >= 0) state.forecast = at;
    },
  },
  env: {
    write: () => state.environment || "all",
    read: (text) => {
      const known = state.board.fields.some(({ env }) => env === text);
      if (known || text === "all") state.environment = known ? text : "";
    },
  },
  view: {
    write: () => state.view,
    read: (text) => {
      if (Object.hasOwn(VIEWS, text)) state.view = text;
    },
  },
  kind: {
    write: () => state.kind,
    read: (text) => {
      if (!text || state.board.policies.some(({ kind }) => kind === text)) state.kind = text;
    },
  },
  find: {
    write: () => state.text,
    read: (text) => (state.text = text),
  },
  sort: {
    write: () => (state.sort.descending ? "-" : "") + state.sort.key,
    read: (text) => (state.sort = { key: text.replace(/^-/, ""), descending: text.startsWith("-") }),
  },
  charts: {
    write: () => state.chosen.map((p) => (p === null ? "" : numberIn(p))).join(" ").trimEnd(),
    read: (text) => {
      const places = text.split(" ").map(policyOf).slice(0, PLACES);
      state.chosen = Array.from({ length: PLACES }, (_, place) => places[place] ?? null);
    },
  },
  pair: {
    write: () => state.pair.map(numberIn).join(" "),
    read: (text) => {
      const pair = text.split(" ").map(policyOf);
      if (pair.length === 2 && !pair.includes(null)) state.pair = pair;
    },
  },
};
const TOPICS = ["forecast", "environment", "filter", "table", "chosen", "pair"];
let plainState = {}; // how the page opens by itself: what is like that is not written

// Policies by number: names may be long, and hold anything.
const numberIn = (p) => String(p + 1);
function policyOf(text) {
  const p = /^\d+$/.test(text) ? Number(text) - 1 : -1;
  return p >= 0 && p < state.board.policies.length ? p : null;
}

const written = () =>
  Object.fromEntries(Object.entries(ADDRESSED).map(([name, { write }]) => [name, write()]));

function writeAddress() {
  const differing = Object.entries(written()).filter(([name, text]) => text !== plainState[name]);
  const hash = new URLSearchParams(differing).toString();
  if (hash === location.hash.slice(1)) return;
  history.replaceState(null, "", hash ? `#${hash}` : location.href.split("#")[0]);
}

// Takes the state from the address; what it does not say is as the page opens by itself.
function readAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  for (const [name, { read }] of Object.entries(ADDRESSED)) {
    read(plainState[name]);
    if (said.has(name)) read(said.get(name));
  }
}

function setUpAddress() {
  on(TOPICS, writeAddress);
  addEventListener("hashchange", () => {
    if (location.hash && !location.hash.includes("=")) return; // a place on the page
    readAddress();
    showControls();
    changed(...TOPICS);
  });
}
