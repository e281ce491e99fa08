// Times a saver: node bench/bench.mjs SAVER SHAPE STEPS FOLDER [DURABILITY]. SAVER is git or sqlite; SHAPE is 1k, 50k, 1m (20 channels that are
// together so large, one replaced a step) or append (a list that grows by 1 KB a step). Prints one line of JSON. With BENCH=puts, it ends after the puts.
import { readFileSync, readdirSync, statSync } from "node:fs";
import * as path from "node:path";

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";

const [, , kind, shape, count, folder, durability = "process"] = process.argv;
const steps = Number(count);
const sizes = { "1k": 1 << 10, "50k": 50 << 10, "1m": 1 << 20, append: 0 };

/** Returns a text of a size that does not compress to nothing. */
let seed = 1;
function text(size) {
  let out = "";
  while (out.length < size) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    out += ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"][seed % 8] + (seed % 9973) + " ";
  }
  return out.slice(0, size);
}

async function open() {
  if (kind === "sqlite") {
    const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
    return SqliteSaver.fromConnString(path.join(folder, "threads.db"));
  }
  const { GitSmithersSaver } = await import("@git-smithers/langgraph");
  return GitSmithersSaver.open({ repository: folder, durability });
}

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))];
const summary = (times) => {
  const sorted = [...times].sort((a, b) => a - b);
  const round = (n) => Math.round(n * 1000) / 1000;
  return { p50: round(quantile(sorted, 0.5)), p99: round(quantile(sorted, 0.99)), mean: round(sorted.reduce((a, b) => a + b, 0) / sorted.length) };
};
async function timed(times, call) {
  const began = performance.now();
  const result = await call();
  times.push(performance.now() - began);
  return result;
}

/** Returns CPU seconds, and the most and the present memory in MB, of the server. */
function server(saver) {
  const pid = saver.client?.pid;
  if (pid === undefined) return undefined;
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mb = (name) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024);
  return { cpu: (Number(stat[13]) + Number(stat[14])) / 100, rss: mb("VmRSS"), peak: mb("VmHWM") };
}

const saver = await open();
const channels = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`channel${i}`, text(sizes[shape] / 20)]));
const versions = Object.fromEntries(Object.keys(channels).map((name) => [name, 1]));
const values = shape === "append" ? { messages: [] } : channels;
const channelVersions = shape === "append" ? { messages: 1 } : versions;
const times = { put: [], putWrites: [] };
let config = { configurable: { thread_id: "bench", checkpoint_ns: "" } };
for (let step = 0; step < steps; step++) {
  const name = shape === "append" ? "messages" : `channel${step % 20}`;
  const value = shape === "append" ? text(1 << 10) : text(sizes[shape] / 20);
  values[name] = shape === "append" ? [...values.messages, value] : value;
  channelVersions[name] = step + 2;
  const changed = step === 0 ? { ...channelVersions } : { [name]: step + 2 };
  if (step > 0) await timed(times.putWrites, () => saver.putWrites(config, [[name, value]], `task${step}`));
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: { ...values }, channel_versions: { ...channelVersions } };
  config = await timed(times.put, () => saver.put(config, checkpoint, { source: "loop", step, parents: {} }, changed));
  await new Promise((resolve) => setImmediate(resolve)); // as a graph gives way after a step
}
if (process.env.BENCH === "puts") {
  await saver.close?.();
  process.exit();
}
const used = server(saver);
const get = [];
for (let i = 0; i < 50; i++) await timed(get, () => saver.getTuple({ configurable: { thread_id: "bench", checkpoint_ns: "" } }));
const list = [];
for (let i = 0; i < 3; i++) {
  await timed(list, async () => {
    let n = 0;
    for await (const _ of saver.list({ configurable: { thread_id: "bench", checkpoint_ns: "" } }, { limit: 100 })) n++;
    return n;
  });
}
const after = server(saver);
await saver.close?.();
const cold = [];
if (kind === "git") {
  const other = await open();
  await timed(cold, () => other.getTuple({ configurable: { thread_id: "bench", checkpoint_ns: "" } }));
  await other.close();
}
const du = (dir) => readdirSync(dir, { withFileTypes: true }).reduce((sum, e) => sum + (e.isDirectory() ? du(path.join(dir, e.name)) : statSync(path.join(dir, e.name)).size), 0);
const disk = du(kind === "git" ? path.join(folder, ".git") : folder);
console.log(
  JSON.stringify({
    saver: kind, shape, steps, put: summary(times.put), lastPuts: summary(times.put.slice(-50)), putWrites: summary(times.putWrites), get: summary(get),
    list100: Math.round(summary(list).p50), cold: cold[0] && Math.round(cold[0]), diskMB: Math.round(disk / 1e5) / 10,
    serverCPUms: used && Math.round((used.cpu / steps) * 1e5) / 100, rss: used?.rss, peak: after?.peak,
  }),
);
