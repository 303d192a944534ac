// Intervals from samples, as wide as failgym/evaluation/statistics says.

const NORMAL = 1.959963984540054; // 97.5 % quantile of the normal distribution
const MANY_TRACES = 3; // from which on the fourth moment of their units is taken as known

function percentile(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const next = sorted[Math.min(below + 1, sorted.length - 1)];
  return sorted[below] + (at - below) * (next - sorted[below]);
}

// Percentiles of the samples, stretched; NaN where a variance is unknown. `variances` add up to that of
// the value. What lies beyond what is possible is cut off, as bootstrap.py says.
function interval(value, samples, variances, [lowest, highest] = [-Infinity, Infinity]) {
  const sorted = Float64Array.from(samples.filter((sample) => !Number.isNaN(sample))).sort();
  const most = 0.05 * samples.length; // samples without a score: where they are more, the room is not sure
  if (!sorted.length || Number.isNaN(value) || samples.length - sorted.length > most) {
    return { value, low: NaN, high: NaN };
  }
  const found = [0.025, 0.975].map((share) => percentile(sorted, share));
  const least = 2 * NORMAL * Math.sqrt(sum(variances.map(([size]) => size)));
  const width = found[1] - found[0];
  const wider = stretch(variances) * (width > 0 ? Math.max(1, least / width) : 1);
  const ends = found.map((end) => value + wider * (end - value));
  const [low, high] = ends.map((end) => Math.min(Math.max(end, lowest), highest)); // NaN stays NaN
  return { value, low, high };
}

// Of a share that was the same in each of `count` units, as interval_width.py says.
function unvaried(value, count) {
  const others = 1 - 0.025 ** (1 / count);
  return { value, low: value * (1 - others), high: value * (1 - others) + others };
}

function stretch(variances) {
  const total = sum(variances.map(([size]) => size));
  if (total === 0) return 1;
  const freedom = total ** 2 / sum(variances.map(([size, known]) => size ** 2 / known));
  return student(freedom) / NORMAL;
}

function student(freedom) {
  const z = NORMAL;
  const terms = [
    z,
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
    (79 * z ** 9 + 776 * z ** 7 + 1482 * z ** 5 - 1920 * z ** 3 - 945 * z) / 92160,
  ];
  return sum(terms.map((term, power) => term / freedom ** power));
}

// Where there is but one unit.
const UNKNOWN = { parts: [[NaN, 1]], traceWeight: 0 };

// [variance, degrees of freedom] of a mean.
function varianceOfMean(values) {
  if (values.length < 2) return [];
  const middle = average(values);
  const squares = sum(values.map((value) => (value - middle) ** 2));
  return [[squares / (values.length - 1) / values.length, values.length - 1]];
}

// Of the mean over environments, whose variances are given together.
const over = (variances, environments) =>
  variances.map(([size, known]) => [size / environments ** 2, known]);

// Sums over the slices of each unit.
function unitSums(values, { units, traces }) {
  const total = new Float64Array(traces.length);
  units.forEach((unit, k) => (total[unit] += values[k]));
  return total;
}

// How much of it a score's variance is between traces, and between their blocks; linearised.
function spreadOfScore(saved, { possible, spent, traces }) {
  const whole = sum(possible);
  if (possible.length < 2 || !enoughRoom(whole, sum(spent))) return UNKNOWN;
  const ratio = sum(saved) / whole;
  const rounding = (1e-9 * whole) / possible.length;
  const parts = Float64Array.from(saved, (value, u) => {
    const residual = value - ratio * possible[u];
    return Math.abs(residual) <= rounding ? 0 : (OPTIMUM * residual) / whole;
  });
  return spreadOf(parts, traces);
}

// The same of the mean of a number of each slice.
function spreadOfMean(values, cell) {
  if (cell.traces.length < 2) return UNKNOWN;
  const middle = average(values);
  const parts = values.map((value) => (value - middle) / values.length);
  return spreadOf(unitSums(parts, cell), cell.traces);
}

// As resampling.py says: { parts: the variances, traceWeight: how far weights of traces differ from 1 }.
function spreadOf(parts, traces) {
  const count = Math.max(...traces) + 1;
  const members = new Float64Array(count);
  const totals = new Float64Array(count);
  traces.forEach((trace, u) => {
    members[trace] += 1;
    totals[trace] += parts[u];
  });
  const within = parts.map((part, u) => part - totals[traces[u]] / members[traces[u]]);
  const unbiased = (trace) => members[trace] / Math.max(members[trace] - 1, 1);
  const units = sum(within.map((part, u) => part ** 2 * unbiased(traces[u])));
  const ofUnits = [units, freedomOf(within, count)];
  const between = count > 1 ? (count / (count - 1)) * sum(totals.map((total) => total ** 2)) : 0;
  const more = between - units;
  if (!(more > 0)) return { parts: [ofUnits], traceWeight: 0 };
  const freedom = freedomOf([...totals], count) * (more / between) ** 2;
  return { parts: [ofUnits, [more, freedom]], traceWeight: Math.sqrt(more / (between + units)) };
}

// Degrees of freedom of the variance of a sum, as interval_width.py says.
function freedomOf(parts, traces) {
  const count = parts.length;
  const fourth = sum(parts.map((part) => part ** 4));
  if (fourth <= 0) return Math.max(count - 1, 1);
  const like = sum(parts.map((part) => part ** 2)) ** 2 / fourth;
  const factor = traces >= MANY_TRACES ? 2 : 1;
  return like < count ? Math.min((factor * like) / (1 - like / count), count - 1) : count - 1;
}
