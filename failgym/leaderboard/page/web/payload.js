// The content of the page: unpacks what payload.py packed, and gives the numbers names.

async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const arrays = {};
  let at = 4 + length;
  for (const { name, length: count } of header.arrays) {
    arrays[name] = floats(bytes.subarray(at, at + 4 * count), count);
    at += 4 * count;
  }
  return board(header, arrays);
}

// Numbers whose first bytes come first, then all second bytes, and so on.
function floats(planes, count) {
  const bytes = new Uint8Array(4 * count);
  for (let plane = 0; plane < 4; plane++) {
    const from = plane * count;
    for (let i = 0; i < count; i++) bytes[4 * i + plane] = planes[from + i];
  }
  return new Float32Array(bytes.buffer);
}

// Takes the next numbers of an array, by its name.
function reader(arrays) {
  const at = {};
  return (name, count) => {
    const from = at[name] ?? 0;
    at[name] = from + count;
    return arrays[name].subarray(from, at[name]);
  };
}

// Everything that the page shows, by policy, field (environment and forecast) and forecast.
function board(header, arrays) {
  const { policies, aggregates, terms, counts, beside } = header;
  const count = policies.length;
  const part = (array, row, width) => array.subarray(row * width, (row + 1) * width);
  const estimate = (array, row, units) => {
    const [value, low, high] = part(array, row, 3);
    return { value, low, high, units };
  };
  const place = (array, row) => {
    const [value, low, high] = part(array, row, 3);
    return { value, low, high };
  };
  const next = reader(arrays);
  const fields = header.fields.map((field, f) => {
    const size = field.slices.length;
    const [possible, spent] = ["possible", "spent"].map((name) => next(name, size));
    const traces = field.block_traces;
    const [room, used] = ["block_possible", "block_spent"].map((name) => next(name, traces.length));
    const cells = policies.map((_, p) => {
      const runs = arrays.counts[(f * count + p) * counts.length];
      if (!runs) return null;
      const saved = next("saved", runs * size);
      const ofBlocks = next("block_saved", runs * traces.length);
      const blocks = { runs, saved: ofBlocks, possible: room, spent: used, traces };
      return { runs, saved, possible, spent, units: field.of_slice, traces: field.trace_of, blocks };
    });
    const priceRanks = policies.map(() => next("price_ranks", field.prices.length));
    const number = header.fields.slice(0, f).filter((o) => o.forecast === field.forecast).length;
    return { ...field, nothing: field.reason, little: field.warning, possible, cells, priceRanks, number };
  });
  const groups = header.forecasts.map((name) =>
    fields.map((_, f) => f).filter((f) => fields[f].forecast === name),
  );
  const failures = new Map(header.failures.map((each) => [each.field * count + each.policy, each]));
  return {
    ...header,
    fields,
    groups,
    overall: (forecast, p, a) => {
      const scored = groups[forecast].map((f) => fields[f]).filter(({ nothing }) => !nothing);
      const units = fewest(scored.map((field) => field.block_traces.length));
      return estimate(arrays.overall, (forecast * count + p) * aggregates.length + a, units);
    },
    score: (f, p) => estimate(arrays.scores, f * count + p, fields[f].block_traces.length),
    // A rank by score, and those that it may be.
    rank: (f, p) => place(arrays.ranks, f * count + p),
    overallRank: (forecast, p) => place(arrays.overall_ranks, forecast * count + p),
    // What stands beside a score, by name.
    beside: (f, p, name) => arrays.beside[(f * count + p) * beside.length + beside.indexOf(name)],
    costs: (f, p) => part(arrays.costs, f * count + p, terms.length),
    counted: (f, p) => {
      const [runs, decisions, illegal, seconds] = part(arrays.counts, f * count + p, counts.length);
      return { runs, decisions, illegal, seconds };
    },
    // What is proven of a policy in a field: "verified", "replayed", "claimed", null: not played.
    proof: (f, p) => header.proofs[f][p],
    failure: (f, p) => failures.get(f * count + p),
  };
}
