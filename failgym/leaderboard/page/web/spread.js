// Intervals from samples, as wide as spread.py says.

const NORMAL = 1.959963984540054; // 97.5 % quantile of the normal distribution

function percentile(sorted, share) {
  const at = share * (sorted.length - 1);
  const below = Math.floor(at);
  const next = sorted[Math.min(below + 1, sorted.length - 1)];
  return sorted[below] + (at - below) * (next - sorted[below]);
}

// Percentiles of the samples, stretched as spread.py says; NaN where a spread is unknown.
// What lies beyond what is possible is cut off, as bootstrap.py says.
function interval(value, samples, variances, [lowest, highest] = [-Infinity, Infinity]) {
  const sorted = Float64Array.from(samples.filter((sample) => !Number.isNaN(sample))).sort();
  const most = 0.05 * samples.length; // samples without a score: where they are more, the room is not sure
  if (!sorted.length || Number.isNaN(value) || samples.length - sorted.length > most) {
    return { value, low: NaN, high: NaN };
  }
  const wider = stretch(variances);
  const ends = [0.025, 0.975].map((share) => value + wider * (percentile(sorted, share) - value));
  const [low, high] = ends.map((end) => Math.min(Math.max(end, lowest), highest)); // NaN stays NaN
  return { value, low, high };
}

// Of a share that was the same on each of `count` slices, as spread.py says.
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

const UNKNOWN = [NaN, 1]; // the variance of a single slice

// [variance, degrees of freedom] of a mean.
function varianceOfMean(values) {
  if (values.length < 2) return [];
  const middle = average(values);
  const squares = sum(values.map((value) => (value - middle) ** 2));
  return [[squares / (values.length - 1) / values.length, values.length - 1]];
}

// Of a ratio of sums, linearised.
function varianceOfSlices(saved, possible, spent) {
  const size = possible.length;
  const whole = sum(possible);
  if (size < 2 || !enoughRoom(whole, sum(spent))) return [UNKNOWN];
  const ratio = sum(saved) / whole;
  const squares = sum(saved.map((value, k) => ((value - ratio * possible[k]) / whole) ** 2));
  return [[(OPTIMUM ** 2 * size * squares) / (size - 1), size - 1]];
}
