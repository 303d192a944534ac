// The estimators of failgym/leaderboard (statistics.py, bootstrap.py), for what is not worked out
// beforehand: any policy against any other, and profiles of those that are chosen.

const RESAMPLES = 1000;
const OPTIMUM = 100;
const LEAST_ROOM = 0.01;
const SLICES = 0;
const ONE = 1;
const OTHER = 2;
const drawn = new Map();

// Mulberry32, by Tommy Ettinger (public domain): numbers in [0, 1).
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

// How large a share of each sample each of `count` is: [RESAMPLES x count].
function shares(count, environment, stream) {
  const key = `${count}/${environment}/${stream}`;
  if (drawn.has(key)) return drawn.get(key);
  const random = generator(1 + environment * 7919 + stream * 104729);
  const size = Math.max(count - 1, 1);
  const found = new Float64Array(RESAMPLES * count);
  for (let r = 0; r < RESAMPLES; r++) {
    for (let i = 0; i < size; i++) found[r * count + Math.floor(random() * count)] += 1 / size;
  }
  drawn.set(key, found);
  return found;
}

// Is what the bound saves enough for a share of it to mean anything? As evaluation/room.py says.
const enoughRoom = (possible, spent) => possible > 0 && possible >= LEAST_ROOM * spent;

const sum = (values) => values.reduce((total, value) => total + value, 0);
const average = (values) => sum(values) / values.length;

// Scores of the runs of a cell on all its slices.
function runScores({ runs, saved, possible, spent }) {
  const whole = sum(possible);
  const scored = enoughRoom(whole, sum(spent));
  const size = possible.length;
  return Array.from({ length: runs }, (_, i) => {
    const total = sum(saved.subarray(i * size, (i + 1) * size));
    return scored ? (OPTIMUM * total) / whole : NaN;
  });
}

// The mean score of a cell in each sample.
function sampledScores({ runs, saved, possible, spent }, environment, stream) {
  const size = possible.length;
  const slices = shares(size, environment, SLICES);
  const weights = shares(runs, environment, stream);
  return Float64Array.from({ length: RESAMPLES }, (_, r) => {
    let all = 0;
    let most = 0;
    let total = 0;
    for (let k = 0; k < size; k++) {
      const share = slices[r * size + k];
      if (!share) continue;
      all += share * possible[k];
      most += share * spent[k];
      for (let i = 0; i < runs; i++) total += share * weights[r * runs + i] * saved[i * size + k];
    }
    return enoughRoom(all, most) ? (OPTIMUM * total) / all : NaN;
  });
}

function meanRun({ runs, saved, possible }) {
  const size = possible.length;
  return Array.from({ length: size }, (_, k) => {
    let total = 0;
    for (let i = 0; i < runs; i++) total += saved[i * size + k];
    return total / runs;
  });
}

// Mean score of x less that of y, over pairs [x, y, environment] of cells on the same slices.
function difference(pairs) {
  const samples = new Float64Array(RESAMPLES);
  const variances = [];
  let value = 0;
  for (const [x, y, environment] of pairs) {
    value += (average(runScores(x)) - average(runScores(y))) / pairs.length;
    const ours = sampledScores(x, environment, ONE);
    const theirs = sampledScores(y, environment, OTHER);
    for (let r = 0; r < RESAMPLES; r++) samples[r] += (ours[r] - theirs[r]) / pairs.length;
    const [of_x, of_y] = [meanRun(x), meanRun(y)];
    variances.push(
      ...varianceOfSlices(of_x.map((saved, k) => saved - of_y[k]), x.possible, x.spent),
      ...varianceOfMean(runScores(x)),
      ...varianceOfMean(runScores(y)),
    );
  }
  return { ...interval(value, samples, variances), units: unitsOf(pairs) };
}

// The smallest number of slices behind a comparison.
const unitsOf = (pairs) => fewest(pairs.map(([{ possible }]) => possible.length));

// Where x saves more than y: 1, as much: 1/2, less: 0; [runs of x][runs of y][slices].
function improvements(x, y) {
  const size = x.possible.length;
  return Array.from({ length: x.runs }, (_, i) =>
    Array.from({ length: y.runs }, (_, j) =>
      Array.from({ length: size }, (_, k) => {
        const less = x.saved[i * size + k] - y.saved[j * size + k];
        return less > 0 ? 1 : less < 0 ? 0 : 0.5;
      }),
    ),
  );
}

// How likely x saves more than y on a slice; pairs as for `difference`.
function probabilityOfImprovement(pairs) {
  const samples = new Float64Array(RESAMPLES);
  const variances = [];
  const units = unitsOf(pairs);
  const said = new Set();
  let value = 0;
  for (const [x, y, environment] of pairs) {
    const better = improvements(x, y);
    better.flat(2).forEach((each) => said.add(each));
    const bySlice = better[0][0].map((_, k) => average(better.flat().map((slices) => slices[k])));
    const byX = better.map((rows) => average(rows.map(average)));
    const byY = better[0].map((_, j) => average(better.map((rows) => average(rows[j]))));
    value += average(bySlice) / pairs.length;
    if (bySlice.length < 2) variances.push(UNKNOWN);
    variances.push(...[bySlice, byX, byY].flatMap(varianceOfMean));
    const weighted = sampledImprovements(better, environment);
    for (let r = 0; r < RESAMPLES; r++) samples[r] += weighted[r] / pairs.length;
  }
  if (said.size === 1 && units > 1) return { ...unvaried(value, pairs.length * units), units };
  return { ...interval(value, samples, variances, [0, 1]), units };
}

function sampledImprovements(better, environment) {
  const size = better[0][0].length;
  const slices = shares(size, environment, SLICES);
  const of_x = shares(better.length, environment, ONE);
  const of_y = shares(better[0].length, environment, OTHER);
  return Float64Array.from({ length: RESAMPLES }, (_, r) => {
    let total = 0;
    better.forEach((rows, i) =>
      rows.forEach((row, j) => {
        const weight = of_x[r * better.length + i] * of_y[r * rows.length + j];
        if (weight) for (let k = 0; k < size; k++) total += weight * slices[r * size + k] * row[k];
      }),
    );
    return total;
  });
}

// Is there something to gain on a slice by itself?
const sliceScored = ({ possible, spent }, k) => enoughRoom(possible[k], spent[k]);

// The score on each slice by itself, NaN where there is nothing to gain: [runs x slices].
function sliceScores(cell) {
  const { saved, possible } = cell;
  return Float64Array.from(saved, (value, at) => {
    const k = at % possible.length;
    return sliceScored(cell, k) ? (OPTIMUM * value) / possible[k] : NaN;
  });
}

// The share of slices with a score above each threshold, with its band, over [cell, environment].
// Environments without a slice on which there is something to gain are left out.
function profile(all, thresholds) {
  const cells = all.filter(([cell]) => [...cell.possible.keys()].some((k) => sliceScored(cell, k)));
  const samples = thresholds.map(() => new Float64Array(RESAMPLES));
  const value = thresholds.map(() => 0);
  for (const [cell, environment] of cells) {
    const kept = [...cell.possible.keys()].filter((k) => sliceScored(cell, k));
    const scores = sliceScores(cell);
    const at = (i, k) => scores[i * cell.possible.length + kept[k]];
    const passed = Array.from({ length: cell.runs }, (_, i) =>
      kept.map((_, k) => thresholds.filter((threshold) => at(i, k) > threshold).length),
    );
    thresholds.forEach((_, t) => {
      const above = average(passed.flat().map((count) => (count > t ? 1 : 0)));
      value[t] += above / cells.length;
    });
    addSampledProfiles(samples, passed, environment, cells.length);
  }
  const sorted = samples.map((each) => each.sort());
  return {
    value,
    low: sorted.map((each) => percentile(each, 0.025)),
    high: sorted.map((each) => percentile(each, 0.975)),
  };
}

// Adds an environment's part: `passed` counts the thresholds that a run passes on a slice.
function addSampledProfiles(samples, passed, environment, environments) {
  const runs = passed.length;
  const size = passed[0].length;
  const slices = shares(size, environment, SLICES);
  const weights = shares(runs, environment, ONE);
  const reached = new Float64Array(samples.length + 1);
  for (let r = 0; r < RESAMPLES; r++) {
    reached.fill(0);
    for (let i = 0; i < runs; i++) {
      for (let k = 0; k < size; k++) {
        reached[passed[i][k]] += weights[r * runs + i] * slices[r * size + k];
      }
    }
    let above = 0;
    for (let t = samples.length - 1; t >= 0; t--) {
      above += reached[t + 1];
      samples[t][r] += above / environments;
    }
  }
}
