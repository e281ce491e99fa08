import { Database } from "bun:sqlite";
import { drizzle } from "drizzle-orm/bun-sqlite";
import { SmithersDb } from "@smithers-orchestrator/db/adapter";
import { ensureSmithersTables } from "@smithers-orchestrator/db/ensure";
import { captureSnapshot, loadLatestSnapshot, parseSnapshot } from "@smithers-orchestrator/time-travel/snapshot";

// Usage: smithers.ts DATABASE capture|load NODES TIMES
//
// Measures Smithers' own library as timeline/bench_test.go measures git-smithers, and prints the median
// as `go test -bench` does. The database must not exist.
const [path, job, size, count] = process.argv.slice(2);
const nodes = Number(size), times = Number(count);
const unmeasured = 50; // captures for bun to compile the code
const frames = job === "capture" ? unmeasured + times : 200;

// open opens the database with the settings of Smithers' engine, which does not fsync a commit.
function open() {
  const sqlite = new Database(path!);
  for (const setting of ["journal_mode = WAL", "busy_timeout = 30000", "synchronous = NORMAL", "locking_mode = NORMAL", "foreign_keys = ON"]) {
    sqlite.run(`PRAGMA ${setting}`);
  }
  return { sqlite, store: drizzle(sqlite) };
}

const id = (node: number) => `task-${String(node).padStart(5, "0")}`;
const random = (n: number) => Math.floor(Math.random() * n);

function word() {
  const w = random(1000);
  return `${String.fromCharCode(97 + (w % 26), 97 + (Math.floor(w / 26) % 26))}e${w} `;
}

// output is a row of about 500 bytes.
function output(node: number, score: number) {
  let summary = "";
  while (summary.length < 470) summary += word();
  return { runId: "wide", nodeId: id(node), iteration: 0, summary: summary.slice(0, 470), score };
}

// report prints the median of samples.
function report(name: string, samples: number[]) {
  samples.sort((a, b) => a - b);
  console.log(`Benchmark${name}/smithers ${samples.length} ${samples[Math.floor(samples.length / 2)]!.toFixed(4)} p50-ms`);
}

const { sqlite, store } = open();
ensureSmithersTables(store);
const db = new SmithersDb(store);
const state = {
  nodes: Array.from({ length: nodes }, (_, i) => (
    { nodeId: id(i), iteration: 0, state: "finished", lastAttempt: 0, outputTable: "results", label: null }
  )),
  outputs: { results: Array.from({ length: nodes }, (_, i) => output(i, 0)) },
  ralph: [],
  input: { runId: "wide" },
};
await captureSnapshot(db, "wide", 0, state);

const captures: number[] = [];
for (let frame = 1; frame <= frames; frame++) {
  const node = random(nodes);
  state.nodes[node]!.lastAttempt = frame;
  state.outputs.results[node] = output(node, frame);
  const start = performance.now();
  await captureSnapshot(db, "wide", frame, state);
  if (frame > unmeasured) captures.push(performance.now() - start);
}
sqlite.close();

if (job === "capture") {
  report(`Capture/nodes=${nodes}`, captures);
} else {
  const loads: number[] = [];
  for (let i = 0; i < times; i++) {
    const { sqlite, store } = open();
    const db = new SmithersDb(store);
    const start = performance.now();
    const snapshot = parseSnapshot((await loadLatestSnapshot(db, "wide"))!);
    loads.push(performance.now() - start);
    if (Object.keys(snapshot.nodes).length !== nodes) throw new Error("the snapshot has too few nodes");
    sqlite.close();
  }
  report("Load/everything", loads);
}
