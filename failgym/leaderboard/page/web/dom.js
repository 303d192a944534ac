// Elements. Text is only ever set as text: what a submission says never becomes markup.

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const option = (value, label, selected) =>
  element("option", { value: String(value), selected }, label);

function fixed(value, digits = 1) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(digits);
  const negative = text.startsWith("-") && Number(text) !== 0;
  return (negative ? "−" : "") + text.replace("-", "");
}

// A large number to its units, a small one to a tenth.
function grouped(value) {
  if (!Number.isFinite(value)) return "–";
  return Math.abs(value) < 100 ? fixed(value) : whole(value).replace("-", "−");
}

const FEW = 10; // an interval of fewer sampling units says little, and is marked
const fewest = (counts) => counts.reduce((a, b) => Math.min(a, b), Infinity);

// An interval, and the number of units behind it if these are few.
function rangeText({ low, high, units = Infinity }, digits = 1) {
  const known = Number.isFinite(low);
  const range = known ? `${fixed(low, digits)} to ${fixed(high, digits)}` : "no interval";
  return units < FEW ? `${range} (${units} ${units === 1 ? "unit" : "units"})` : range;
}

const names = new Intl.Collator("en", { numeric: true });
const whole = (value) => Math.round(value).toLocaleString("en");
const sentence = (name) => name[0].toUpperCase() + name.slice(1).replaceAll("_", " ");
// What a row of results is of: a slice, or the slices of a whole trace together.
const rowName = ([seed, slice]) => (slice < 0 ? `trace of seed ${seed}` : `slice ${slice}, seed ${seed}`);
const shortEnvironment = (env) => env.replace(/^failgym\//, "");
