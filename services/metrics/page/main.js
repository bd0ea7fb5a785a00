// What is chosen, what of it is fetched, and where it goes. The address says what is chosen:
// #runs=A,B (their curves) and of=A (whose rounds, workers, events ...).

import { live, listen, report } from "./api.js";
import { Chart } from "./chart.js";
import { element, place, say, table } from "./dom.js";
import * as f from "./format.js";
import { COLUMNS } from "./columns.js";

const LEAST_MS = 1000;   // between two refreshes
const POLL_MS = 10000;   // when there is no stream of changes
const LIVE_MS = 2000;    // of a run that goes on
const OVERLAID = 6;      // runs whose curves are shown together

const at = (id) => document.getElementById(id);
const state = { runs: [], chosen: [], of: null, paused: false, connected: false, busy: false,
                again: false, shownAt: 0, live: [] };

const curves = {
  loss: new Chart(at("curves"), { id: "chart-loss", title: "Loss", format: f.loss }),
  validation: new Chart(at("curves"), { id: "chart-validation", title: "Validation loss", format: f.loss }),
  speed: new Chart(at("curves"), { id: "chart-speed", title: "Tokens per second", format: f.count }),
};
const CURVE_OF = { loss: "loss", validation: "validation_loss", speed: "tokens_per_second" };
const rounds = {
  time: new Chart(at("rounds"), { id: "chart-time", title: "Where each round's time went", format: f.milliseconds, piled: true }),
  wire: new Chart(at("rounds"), { id: "chart-wire", title: "Bytes on the wire", format: f.bytes }),
};
const PARTS = {
  time: [["compute", "compute_ms"], ["transfer", "transfer_ms"], ["wait for the last lease", "wait_ms"],
         ["recover", "recover_ms"], ["other", "other_ms"]],
  wire: [["received by aggregators", "received_bytes"], ["sent by aggregators", "sent_bytes"]],
};

// --- what is chosen ---

// A name that is escaped wrongly (an address typed by hand) stands for itself.
function unescaped(name) {
  try { return decodeURIComponent(name); } catch { return name; }
}
function readAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const names = (asked.get("runs") ?? "").split(",").filter(Boolean).map(unescaped);
  state.chosen = names.slice(0, OVERLAID);
  state.of = asked.get("of");
}

function writeAddress() {
  const asked = new URLSearchParams();
  asked.set("runs", state.chosen.map(encodeURIComponent).join(","));
  if (state.of) asked.set("of", state.of);
  history.replaceState(null, "", `#${asked}`);
}

// The newest, until somebody chooses.
function settle() {
  const known = new Set(state.runs.map((r) => r.run));
  state.chosen = state.chosen.filter((name) => known.has(name));
  if (!state.chosen.length && state.runs.length) state.chosen = [state.runs[0].run];
  if (!state.chosen.includes(state.of)) state.of = state.chosen[0] ?? null;
}

function choose(name, on) {
  state.chosen = state.chosen.filter((one) => one !== name);
  if (on) state.chosen = [...state.chosen, name].slice(-OVERLAID);
  settle();
  writeAddress();
  refresh();
}

function focusOn(name) {
  if (!state.chosen.includes(name)) state.chosen = [...state.chosen, name].slice(-OVERLAID);
  state.of = name;
  writeAddress();
  refresh();
}

// --- tables ---

function showRuns(answer) {
  if (!answer.rows.length) return say(at("runs"), "There is no run yet.");
  const curve = { title: "Curves", cell: (r) => {
    const box = element("input", { type: "checkbox", id: `show-${r.run}`, "aria-label": `Show the curves of ${r.run}` });
    box.checked = state.chosen.includes(r.run);
    box.addEventListener("change", () => choose(r.run, box.checked));
    return element("label", {}, box);
  } };
  const name = { title: "Run", cell: (r) => {
    const link = element("a", { href: `#of=${encodeURIComponent(r.run)}`, id: `run-${r.run}`,
                                "aria-current": r.run === state.of ? "true" : null }, r.run);
    link.addEventListener("click", (event) => { event.preventDefault(); focusOn(r.run); });
    return link;
  } };
  place(at("runs"), table("Newest first", [curve, name, ...COLUMNS.runs], answer.rows, answer.more),
        { label: "Runs", tall: true });
}

function showTable(id, caption, answer, none, tall) {
  if (!answer.rows.length) return say(at(id), none);
  place(at(id), table(caption, COLUMNS[id], answer.rows, answer.more), { label: caption, tall });
}

// The last value that was heard, of a metric.
const heard = (name, label = "") => state.live.find((v) => v.name === name && v.label === label)?.value;

function showSummary(run, open, speeds) {
  const goesOn = run.state === "running";
  const waits = open.rows[0]?.waits_for;
  const phase = state.live.find((v) => v.name === "pcp_phase" && v.value === 1)?.label;
  const eta = heard("pcp_eta_seconds");
  const entries = [
    ["State", run.state ?? ""], ["Round", `${run.rounds}${run.rounds_planned ? ` of ${run.rounds_planned}` : ""}`, run.rounds],
    ["Loss", f.loss(run.loss), run.loss], ["Validation loss", f.loss(run.validation_loss), run.validation_loss],
    ["Tokens", f.count(run.tokens), run.tokens],
    ["Tokens per second", f.count(speeds.at(-1)?.tokens_per_second), speeds.at(-1)?.tokens_per_second],
    ["Begun", f.time(run.started_at)], [goesOn ? "Leader" : "Ended", goesOn ? run.leader ?? "" : f.time(run.finished_at)],
    goesOn && phase ? ["Doing", phase] : null,
    goesOn && Number.isFinite(eta) ? ["Time left", f.milliseconds(eta * 1000)] : null,
    waits ? ["Waits for", waits, null, true] : null, run.reason ? ["Why", run.reason, null, true] : null,
    run.checkpoint ? ["Newest checkpoint", run.checkpoint, null, true] : null,
  ].filter(Boolean);
  at("summary").replaceChildren(...entries.map(([term, text, value, wide]) =>
    element("div", { class: wide ? "wide" : null }, element("dt", {}, term),
      element("dd", { class: text.length > 12 ? "small" : null }, Number.isFinite(value) ? element("data", { value }, text) : text))));
  at("run-title").textContent = `Run ${run.run}`;
  for (const place of document.querySelectorAll(".run-name")) place.textContent = run.run;
}

// Beside each worker what it said last.
function showWorkers(answer) {
  for (const row of answer.rows) {
    row.live_loss = heard("pcp_worker_loss", row.worker);
    row.live_speed = heard("pcp_worker_tokens_per_second", row.worker);
  }
  showTable("workers", "Workers that serve or served this run", answer, "No worker has come yet.");
}

// --- fetching ---

// Each part shows what it gets, whatever becomes of the others; then the first problem is told.
async function all(parts) {
  const ends = await Promise.allSettled(parts);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) throw failed.reason;
  return ends.map((end) => end.value);
}

const points = (rows, column) => rows.filter((r) => r[column] !== null).map((r) => [r.round, r[column]]);

async function refreshCurves() {
  const speeds = {};
  await all(Object.entries(curves).map(async ([name, chart]) => {
    const answers = await Promise.all(state.chosen.map((run) => report(name, run)));
    if (name === "speed") state.chosen.forEach((run, i) => { speeds[run] = answers[i].rows; });
    chart.show(state.chosen.map((run, i) => ({ name: run, points: points(answers[i].rows, CURVE_OF[name]) })),
               Math.max(1, ...answers.map((a) => a.each)));
  }));
  return speeds;
}

async function refreshRounds() {
  await all(Object.entries(rounds).map(async ([name, chart]) => {
    const answer = await report(name, state.of);
    chart.show(PARTS[name].map(([title, column]) => ({ name: title, points: points(answer.rows, column) })), answer.each);
  }));
}

async function refreshTables() {
  const tables = [
    ["samples", 50, "Newest first", "The model has written nothing (sample_every)."],
    ["events", 200, "Newest first", "Nothing has happened yet."],
    ["leases", 100, "Leases, newest round first", "No lease was given yet."],
    ["checkpoints", 50, "Checkpoints, newest first", "There is no checkpoint yet."],
    ["ledger", 20, "Windows of each epoch", "Nothing is committed yet."],
    ["rejections", 50, "Updates that were not admitted", "No update was refused."],
  ];
  const workers = async () => showWorkers(await report("workers", state.of));
  await all([workers(), ...tables.map(async ([id, most, caption, none]) =>
    showTable(id, caption, await report(id, state.of, most), none, true))]);
}

async function refreshSummary() {
  const [speeds, open] = await Promise.all([refreshCurves(), report("open", state.of, 1)]);
  showSummary(state.runs.find((r) => r.run === state.of), open, speeds[state.of] ?? []);
}

async function refreshAll() {
  const [runs, queue] = await Promise.all([report("runs", undefined, 200), report("queue", undefined, 200)]);
  state.runs = runs.rows;
  settle();
  showRuns(runs);
  if (queue.rows.length) showTable("queue", "Runs that wait", queue, "");
  else at("queue").replaceChildren();
  at("content").hidden = !state.of;
  if (!state.of) return;
  state.live = await live(state.of).catch(() => []);
  await all([refreshSummary(), refreshRounds(), refreshTables()]);
}

// One at a time; what comes meanwhile is one more afterwards.
async function refresh() {
  if (state.busy) {
    state.again = true;
    return;
  }
  state.busy = true;
  try {
    await refreshAll();
    at("problem").hidden = true;
    state.shownAt = Date.now();
    document.body.dataset.refreshed = String(Number(document.body.dataset.refreshed ?? 0) + 1);
  } catch (problem) {
    at("problem").textContent = `The service does not answer as it should: ${problem.message}`;
    at("problem").hidden = false;
  }
  state.busy = false;
  showState();
  if (state.again) {
    state.again = false;
    later(LEAST_MS);
  }
}

let waiting = null;
function later(ms) {
  if (waiting !== null) return;
  waiting = setTimeout(() => {
    waiting = null;
    if (!state.paused && !document.hidden) refresh();
  }, ms);
}

// --- the state of the connection ---

function showState() {
  const when = state.shownAt ? `; as of ${f.time(new Date(state.shownAt).toISOString()).slice(11)}` : "";
  const text = state.paused ? "Paused" : state.connected ? "Live" : "Not connected; trying again";
  at("status").textContent = `${text}${when}`;
  at("status").className = state.paused ? "" : state.connected ? "live" : "lost";
}

at("pause").addEventListener("click", () => {
  state.paused = !state.paused;
  at("pause").setAttribute("aria-pressed", String(state.paused));
  showState();
  if (!state.paused) refresh();
});
addEventListener("hashchange", () => { readAddress(); refresh(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) later(0); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const chart of [...Object.values(curves), ...Object.values(rounds)]) if (chart.data) chart.draw();
});

readAddress();
refresh();
listen(() => later(Math.max(0, LEAST_MS - (Date.now() - state.shownAt))),
       (what) => { state.connected = what === "live"; showState(); });
setInterval(() => { if (!state.connected) later(0); }, POLL_MS);
setInterval(() => {
  if (state.runs.find((r) => r.run === state.of)?.state === "running") later(0);
}, LIVE_MS);
