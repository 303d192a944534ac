// Provenance of a policy: what was run, with what, on what, and all its scores side by side.

function detailsRow(p, width) {
  const policy = state.board.policies[p];
  const submissions = [...new Set(policy.runs.map((run) => run.submission))];
  const parts = [...policy.runs.map(runDetails), ...submissions.map(submissionDetails)];
  const proven = facts([["Proven", lines(proofs(p))]]);
  const box = element("div", { class: "details" }, scoresByForecast(p), ...failures(p), proven, ...parts);
  return element("tr", { class: "details-row" }, element("td", { colspan: width }, box));
}

// With calibrated forecasts, trained ones and none.
function scoresByForecast(p) {
  const { board } = state;
  const envs = [...new Set(board.fields.map(({ env }) => env))];
  const head = element("tr", {}, element("th", { scope: "col" }, "Score with forecasts"));
  head.append(...board.forecasts.map((name) => element("th", { scope: "col" }, name)));
  const rows = envs.map((env) => {
    const cells = board.forecasts.map((_, forecast) => {
      const f = board.groups[forecast].find((each) => board.fields[each].env === env);
      return element("td", {}, ...(f === undefined || board.failure(f, p) ? ["–"] : scoreCell(f, p)));
    });
    return element("tr", {}, element("th", { scope: "row" }, shortEnvironment(env)), ...cells);
  });
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
}

// What is proven, and of which rows: nothing, unless the host's own verdict says so.
function proofs(p) {
  const { board } = state;
  return PROOFS.flatMap((proof) => {
    const rows = board.fields.filter((_, f) => board.proof(f, p) === proof);
    const named = rows.map(({ env, forecast }) => `${shortEnvironment(env)} ${forecast}`);
    return rows.length ? [`${proof} (${board.meanings[proof]}): ${named.join(", ")}`] : [];
  });
}

// How a policy, or one training run of it, was run.
function runDetails(run) {
  const { failgym } = state.board.submissions[run.submission];
  const versions = Object.entries(run.versions).map(([name, version]) => `${name} ${version}`);
  const files = specs(run.files);
  return facts([
    ["Command, as stated by the submitter", commandLine(run.command)],
    ["SPEC", lines(specs(run.specs))],
    ["Files", files.length ? lines(files) : null],
    ["Training seed", run.training_seed === null ? null : String(run.training_seed)],
    ["Versions, as stated by the submitter", [`failgym ${failgym}`, ...versions].join(", ")],
  ]);
}

// What it was run on.
function submissionDetails(number) {
  const { folder, address, traces, left_out: left, secret } = state.board.submissions[number];
  const named = element(address ? "a" : "span", address ? { href: address } : {}, element("bdi", {}, folder));
  const leftOut = left.map(([env, forecast, reason]) => `${env}, forecasts ${forecast}: ${reason}`);
  return facts([
    ["Submission", folder ? named : null],
    ["Suite", `${state.board.suite}, digest ${state.board.digest}`],
    ["Traces", lines(traces.map(([env, seed, hash]) => `${env}, seed ${seed}: ${hash}`))],
    ["Left out", leftOut.length ? lines(leftOut) : null],
    ["Secret seed", secret ? `drawn with one, SHA-256 ${secret}` : null],
  ]);
}

// A list of [name, text or element]; without those that there are none of.
function facts(pairs) {
  const list = element("dl", {});
  for (const [name, fact] of pairs) {
    if (fact) list.append(element("dt", {}, name), element("dd", {}, fact));
  }
  return list;
}

// One line where it is the same for every environment.
function specs(byEnvironment) {
  const entries = Object.entries(byEnvironment);
  const distinct = new Set(entries.map(([, spec]) => spec));
  return distinct.size === 1 ? [...distinct] : entries.map(([env, spec]) => `${env}: ${spec}`);
}

function lines(texts) {
  return element("ul", {}, ...texts.map((text) => element("li", {}, element("code", {}, text))));
}

function commandLine(command) {
  const text = element("code", {}, command);
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text); // the reader's own copy works where ours may not
      copy.textContent = "Selected";
    }
  });
  return element("span", { class: "command" }, text, copy);
}

function failures(p) {
  const { board } = state;
  const found = board.fields
    .map((field, f) => [field, board.failure(f, p)])
    .filter(([, failure]) => failure);
  if (!found.length) return [];
  const texts = found.map(
    ([{ env, forecast }, { status, episodes, reason }]) =>
      `${env}, forecasts ${forecast}: ${status}, ${episodes} episodes: ${reason}`,
  );
  return [element("p", { class: "failed" }, "No score, since episodes failed or are missing:"), lines(texts)];
}
