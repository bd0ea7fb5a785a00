// What the tables show of each report.

import { element } from "./dom.js";
import * as f from "./format.js";

const BAD = new Set(["failed", "lost", "bad"]);
const GOOD = new Set(["done", "running", "busy", "committed", "good"]);

const text = (title, name, kind = "") => ({ title, kind, of: (row) => row[name] });
const number = (title, name, format = f.exact) => ({ title, kind: "n", of: (row) => row[name], format: (v) => format(v === "" ? null : v) });
const time = (title, name) => ({ title, kind: "t", of: (row) => row[name], format: (v) => f.time(v) });
const state = (title, name) => ({ title, cell: (row) =>
  element("span", { class: `state ${BAD.has(row[name]) ? "bad" : GOOD.has(row[name]) ? "good" : ""}` }, row[name] ?? "") });

export const COLUMNS = {
  runs: [state("State", "state"), number("Rounds", "rounds"), number("of", "rounds_planned"), number("Loss", "loss", f.loss),
         number("Validation", "validation_loss", f.loss), number("Tokens", "tokens", f.count), time("Begun", "started_at"),
         time("Ended", "finished_at"), text("Why", "reason", "long")],
  queue: [text("Run", "run"), number("Place", "number"), state("State", "state"), number("Workers wanted", "workers_wanted"),
          time("Submitted", "created_at"), text("Why", "reason", "long")],
  workers: [text("Worker", "worker"), state("State", "state"), text("Target", "target"), text("Device", "device"),
            text("Host", "host"), number("Tokens/s now", "live_speed", f.count), number("Loss now", "live_loss", f.loss),
            number("Steps/s", "steps_per_second", f.count), number("Memory", "memory_bytes", f.bytes),
            number("Starts", "n_starts"), time("Since", "changed_at"), text("Why", "reason", "long")],
  events: [time("When", "told_at"), { title: "Level", cell: (row) => element("span", { class: `level-${row.level}` }, row.level) },
           text("Event", "name"), text("Who", "member"), number("Round", "round"),
           { title: "Why", kind: "long", of: (row) => row.detail, format: f.detail }],
  leases: [number("Round", "round"), number("Replica", "replica"), text("Worker", "worker"), state("State", "state"),
           number("Loss", "loss", f.loss), number("Steps", "n_steps"), number("Windows", "n_windows"),
           number("Compute", "compute_ms", f.milliseconds), number("Sent", "sent_bytes", f.bytes),
           number("Received", "received_bytes", f.bytes), time("Given", "issued_at"), time("Done", "done_at")],
  checkpoints: [number("Round", "round"), state("State", "state"), number("Size", "n_bytes", f.bytes), time("Written", "created_at"),
                text("Where", "path", "long"), text("Why", "reason")],
  samples: [number("Round", "round"), text("Prompt", "prompt", "written"), text("Text", "text", "written"), time("When", "written_at")],
  ledger: [number("Epoch", "epoch"), number("Windows", "epoch_windows"), number("Committed", "committed_windows"),
           number("Twice", "doubled_windows"), number("Skipped", "skipped_windows"),
           { title: "Each once", cell: (row) => (row.exactly_once ? "yes" : element("span", { class: "state bad" }, "no")) },
           { title: "Complete", cell: (row) => (row.complete ? "yes" : "not yet") }],
  rejections: [number("Round", "round"), number("Replica", "replica"), text("Worker", "worker"), text("Reason", "reason"),
               text("Detail", "detail", "long"), time("When", "created_at")],
};
