// What there is to gain in each environment, and who holds it.

const ROOM_COLUMNS = [
  ["Environment", "", ({ env }) => shortEnvironment(env)],
  ["Room", "What the bound saves, a share of what replay costs", (field) => share(field.room_of_cost)],
  ["of machine-time", "The same as a share of what replay's machine-time costs", (field) => share(field.room_share)],
  ["Machine-hours", "Machine-time that costs as much as the room", (field) => (field.room_hours === null ? "–" : grouped(field.room_hours))],
  ["Traces", "Of traces of your own: the folds of one", ({ traces, folds }) => (folds ? `${whole(traces)} folds` : whole(traces))],
  ["Tasks", "That are asked about; of traces of which slices are drawn by what is at stake, about so many", ({ tasks }) => whole(tasks)],
  ["Top job", "Share of the room that lies in the one job of all traces with most of it", (field) => share(field.stake_in_top)],
  ["Top 1 %", "Share of it in the 1 % of jobs of each trace with most of it, rounded up", (field) => share(field.stake_in_top_percent)],
];

const share = (value) => (value === null ? "–" : percent(value));

function renderRoom() {
  const { fields } = state.board;
  const [head, body] = byId("room-table").children;
  const titles = ROOM_COLUMNS.map(([label, title]) => element("th", { scope: "col", title }, label));
  head.replaceChildren(element("tr", {}, ...titles));
  const rows = fieldsInView().map((f) => {
    const [name, ...cells] = ROOM_COLUMNS.map(([, , show]) => show(fields[f]));
    const marks = [fields[f].nothing, fields[f].little].filter(Boolean);
    const marked = marks.map((why) => element("sup", { title: why }, MARK));
    const first = element("th", { scope: "row" }, name, ...marked);
    return element("tr", {}, first, ...cells.map((text) => element("td", {}, text)));
  });
  body.replaceChildren(...rows);
}
