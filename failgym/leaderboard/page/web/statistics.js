// The estimators of failgym/leaderboard (statistics/estimators.py, bootstrap.py), for what is not worked out
// beforehand: any policy against any other, and profiles of those that are chosen.

const RESAMPLES = 1000;
const OPTIMUM = 100;
const LEAST_ROOM = 0.01;
const UNITS = 0;
const ONE = 1;
const OTHER = 2;
const TRACES = 3;
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

// How often each of `count` is drawn, over how often it is on average: [RESAMPLES x count].
function shares(count, environment, stream) {
  const key = `${count}/${environment}/${stream}`;
  if (drawn.has(key)) return drawn.get(key);
  const random = generator(1 + environment * 7919 + stream * 104729);
  const size = Math.max(count - 1, 1);
  const found = new Float64Array(RESAMPLES * count);
  for (let r = 0; r < RESAMPLES; r++) {
    for (let i = 0; i < size; i++) found[r * count + Math.floor(random() * count)] += count / size;
  }
  drawn.set(key, found);
  return found;
}

// How often each unit counts, over how often it does on average: [RESAMPLES x units]. The units of each
// trace are drawn by themselves, and traces by `traceWeight`, as resampling.py says.
function unitWeights(traces, traceWeight, environment) {
  const count = Math.max(...traces) + 1;
  if (count === 1) return shares(traces.length, environment, UNITS);
  const found = new Float64Array(RESAMPLES * traces.length);
  const ofTraces = shares(count, environment, TRACES);
  for (let trace = 0; trace < count; trace++) {
    const members = [...traces.keys()].filter((u) => traces[u] === trace);
    const of = shares(members.length, environment, UNITS + 4 * (1 + trace));
    for (let r = 0; r < RESAMPLES; r++) {
      const whole = 1 + traceWeight * (ofTraces[r * count + trace] - 1);
      members.forEach((u, i) => {
        found[r * traces.length + u] = whole * of[r * members.length + i];
      });
    }
  }
  return found;
}

// How large a share of each sample each slice is: [RESAMPLES x slices].
function sliceShares({ units, traces }, traceWeight, environment) {
  const weights = unitWeights(traces, traceWeight, environment);
  const found = new Float64Array(RESAMPLES * units.length);
  for (let r = 0; r < RESAMPLES; r++) {
    const drawn = units.map((unit) => weights[r * traces.length + unit]);
    const whole = sum(drawn);
    drawn.forEach((weight, k) => (found[r * units.length + k] = weight / whole));
  }
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

// The mean score of a cell in each sample, over blocks.
function sampledScores({ runs, blocks }, traceWeight, environment, stream) {
  const { saved, possible, spent, traces } = blocks;
  const size = traces.length;
  const drawn = unitWeights(traces, traceWeight, environment);
  const weights = shares(runs, environment, stream);
  return Float64Array.from({ length: RESAMPLES }, (_, r) => {
    let all = 0;
    let most = 0;
    let total = 0;
    for (let u = 0; u < size; u++) {
      const weight = drawn[r * size + u];
      if (!weight) continue;
      all += weight * possible[u];
      most += weight * spent[u];
      for (let i = 0; i < runs; i++) total += (weight * weights[r * runs + i] * saved[i * size + u]) / runs;
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
    const [of_x, of_y] = [meanRun(x.blocks), meanRun(y.blocks)];
    const spread = spreadOfScore(of_x.map((saved, u) => saved - of_y[u]), x.blocks);
    const ours = sampledScores(x, spread.traceWeight, environment, ONE);
    const theirs = sampledScores(y, spread.traceWeight, environment, OTHER);
    for (let r = 0; r < RESAMPLES; r++) samples[r] += (ours[r] - theirs[r]) / pairs.length;
    variances.push(...spread.parts, ...varianceOfMean(runScores(x)), ...varianceOfMean(runScores(y)));
  }
  const units = fewest(pairs.map(([{ blocks }]) => blocks.traces.length));
  return { ...interval(value, samples, over(variances, pairs.length)), units };
}

// The smallest number of units of slices behind a comparison.
const unitsOf = (pairs) => fewest(pairs.map(([{ traces }]) => traces.length));

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
    const spread = spreadOfMean(bySlice, x);
    variances.push(...spread.parts, ...[byX, byY].flatMap(varianceOfMean));
    const weighted = sampledImprovements(better, x, spread.traceWeight, environment);
    for (let r = 0; r < RESAMPLES; r++) samples[r] += weighted[r] / pairs.length;
  }
  if (said.size === 1 && units > 1) return { ...unvaried(value, pairs.length * units), units };
  return { ...interval(value, samples, over(variances, pairs.length), [0, 1]), units };
}

function sampledImprovements(better, cell, traceWeight, environment) {
  const size = better[0][0].length;
  const slices = sliceShares(cell, traceWeight, environment);
  const of_x = shares(better.length, environment, ONE);
  const of_y = shares(better[0].length, environment, OTHER);
  return Float64Array.from({ length: RESAMPLES }, (_, r) => {
    let total = 0;
    better.forEach((rows, i) =>
      rows.forEach((row, j) => {
        const weight =
          (of_x[r * better.length + i] * of_y[r * rows.length + j]) / (better.length * rows.length);
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
    addSampledProfiles(samples, passed, only(cell, kept), environment, cells.length);
  }
  const sorted = samples.map((each) => each.sort());
  return {
    value,
    low: sorted.map((each) => percentile(each, 0.025)),
    high: sorted.map((each) => percentile(each, 0.975)),
  };
}

// The units of some slices, numbered anew.
function only({ units, traces }, slices) {
  const number = (values) => new Map([...new Set(values)].sort((a, b) => a - b).map((v, i) => [v, i]));
  const kept = number(slices.map((k) => units[k]));
  const of = number([...kept.keys()].map((unit) => traces[unit]));
  return {
    units: slices.map((k) => kept.get(units[k])),
    traces: [...kept.keys()].map((unit) => of.get(traces[unit])),
  };
}

// Adds an environment's part: `passed` counts the thresholds that a run passes on a slice. Traces count
// whole, which errs on the wide side.
function addSampledProfiles(samples, passed, cell, environment, environments) {
  const runs = passed.length;
  const size = passed[0].length;
  const slices = sliceShares(cell, 1, environment);
  const weights = shares(runs, environment, ONE);
  const reached = new Float64Array(samples.length + 1);
  for (let r = 0; r < RESAMPLES; r++) {
    reached.fill(0);
    for (let i = 0; i < runs; i++) {
      for (let k = 0; k < size; k++) {
        reached[passed[i][k]] += (weights[r * runs + i] / runs) * slices[r * size + k];
      }
    }
    let above = 0;
    for (let t = samples.length - 1; t >= 0; t--) {
      above += reached[t + 1];
      samples[t][r] += above / environments;
    }
  }
}
