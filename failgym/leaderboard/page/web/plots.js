// What charts have in common: colours, layout, and when they are drawn.

const LIGHT = ["#0067b1", "#c94a00", "#00805a", "#a83e86", "#8a6d00", "#5b48c9", "#b3202c", "#4c5966"];
const DARK = ["#58b0f5", "#ff9a57", "#3fcf9f", "#ee8fcb", "#e3c04f", "#aa9dff", "#ff7b81", "#b3bfcc"];
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "x", "star", "pentagon"];
const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "solid", "dash", "dot"];
// Only buttons that stay on this page: Plotly has others, which would send the data elsewhere.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
const drawings = []; // one for each section with charts

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const colour = (place) => (dark() ? DARK : LIGHT)[place];
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const narrow = () => innerWidth < 640;

function transparent(hex, share) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${red},${green},${blue},${share})`;
}

// Plotly reads some markup in texts; a name is no markup.
const plain = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const shortened = (name, size = 28) => (name.length > size ? `${name.slice(0, size - 1)}…` : name);

function axis(title, more = {}) {
  const line = variable("--line");
  const font = { size: 12 };
  return {
    title: { text: title, font },
    gridcolor: line,
    linecolor: line,
    zerolinecolor: variable("--muted"),
    automargin: true,
    ...more,
  };
}

function draw(box, label, traces, layout) {
  const ink = variable("--ink");
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", label);
  return Plotly.react(
    box,
    traces,
    {
      height: 320,
      margin: { l: 48, r: 12, t: layout.title ? 36 : 24, b: 44 },
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: "system-ui, sans-serif", size: 12, color: ink },
      showlegend: false,
      hovermode: "closest",
      dragmode: narrow() ? false : "zoom",
      hoverlabel: { bgcolor: variable("--panel"), font: { color: ink }, align: "left" },
      ...layout,
    },
    {
      displaylogo: false,
      displayModeBar: narrow() ? false : "hover",
      modeBarButtons: BUTTONS,
      plotlyServerURL: "",
      responsive: true,
      doubleClick: "reset",
    },
  );
}

// Boxes of a section, as many as it needs.
function boxes(section, count) {
  const grid = section.querySelector(".grid");
  while (grid.children.length < count) grid.append(element("div", { class: "plot" }));
  return [...grid.children];
}

// Draws the charts of a section, and again when what they show has changed: at once if they are in
// view, soon if they are not. So they are there whenever the page is printed or captured whole.
function drawWhenChanged(section, render, topics) {
  const drawing = { section, render, stale: true };
  drawings.push(drawing);
  on(topics, () => {
    drawing.stale = true;
    if (inView(section)) refresh(drawing);
    else drawSoon();
  });
}

function refresh(drawing) {
  if (!drawing.stale) return;
  drawing.stale = false;
  drawing.render();
}

function inView(section) {
  const { top, bottom } = section.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

// One section after another, so that the page answers in between.
let waiting = false;
function drawSoon(then = () => {}) {
  if (waiting) return;
  waiting = true;
  setTimeout(() => {
    waiting = false;
    const next = drawings.find(({ stale }) => stale);
    if (!next) return then();
    refresh(next);
    drawSoon(then);
  });
}

// Paper has a width of its own: charts are drawn for it, and for the window again.
const PAPER = "60rem";
function setUpPrinting() {
  const fit = (width) => {
    document.body.style.width = width;
    drawings.forEach(refresh);
    for (const box of document.querySelectorAll(".plot")) Plotly.relayout(box, { autosize: true });
  };
  addEventListener("beforeprint", () => fit(PAPER));
  addEventListener("afterprint", () => fit(""));
}

// A choice of environment of a section's own; it follows that of the table.
function environmentChoice(section, all, changedHere) {
  const select = element("select", { "aria-label": `Environment of: ${section.querySelector("h2").textContent}` });
  const fill = () => {
    const envs = shownFields().map((f) => state.board.fields[f].env);
    const before = state.environment || select.value;
    const names = all ? ["", ...envs] : envs;
    const value = names.includes(before) ? before : names[0];
    select.replaceChildren(
      ...names.map((env) => option(env, env ? shortEnvironment(env) : allLabel(), env === value)),
    );
  };
  select.addEventListener("change", changedHere);
  section.querySelector(".head").append(select);
  on(["forecast", "environment"], fill);
  fill();
  return {
    fields: () =>
      shownFields().filter((f) => !select.value || state.board.fields[f].env === select.value),
  };
}
