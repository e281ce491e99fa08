// Threads of LangGraph's SqliteSaver are imported, and go on here. SQLITE is the folder of its modules.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { pathToFileURL } from "node:url";

import { Annotation, Command, END, START, Send, StateGraph, interrupt } from "@langchain/langgraph";

import { documents, drop, makeRepository, open } from "./repository.mjs";

const entry = (name) => pathToFileURL(path.join(process.env.SQLITE, ...name.split("/"), "dist", "index.js")).href;

const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const at = (thread_id, more = {}) => ({ configurable: { thread_id, ...more } });

/** A graph with a subgraph that asks for a name, and two tasks that are sent at the end. */
function build(checkpointer) {
  const inner = new StateGraph(State)
    .addNode("ask", () => ({ value: [`hello ${interrupt("name?")}`] }))
    .addEdge(START, "ask")
    .compile();
  return new StateGraph(State)
    .addNode("begin", () => ({ value: ["begin"] }))
    .addNode("inner", inner)
    .addNode("end", () => ({ value: ["end"] }))
    .addEdge(START, "begin")
    .addEdge("begin", "inner")
    .addNode("more", () => ({ value: ["sent"] }))
    .addEdge("inner", "end")
    .addConditionalEdges("end", () => [new Send("more", { value: ["a"] }), new Send("more", { value: ["b"] })], ["more"])
    .addEdge("more", END)
    .compile({ checkpointer });
}

/** Returns everything that a saver has, in the order of its ids. */
async function everything(saver) {
  const found = [];
  for await (const { config } of saver.list({})) found.push(await saver.getTuple(config));
  const name = ({ config: { configurable: c } }) => JSON.stringify([c.checkpoint_id, c.thread_id, c.checkpoint_ns]);
  found.sort((a, b) => (name(a) < name(b) ? -1 : 1));
  for (const { pendingWrites, checkpoint } of found) {
    pendingWrites.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    const { channel_values: values, channel_versions: versions } = checkpoint;
    // Only channels with a version have values. SqliteSaver alone returns others: empty lists.
    for (const name of Object.keys(values)) if (versions[name] === undefined) expect(values[name], name).toEqual([]);
    for (const name of Object.keys(values)) if (versions[name] === undefined) delete values[name];
  }
  return JSON.parse(JSON.stringify(found)); // without members that are undefined
}

it("threads of SqliteSaver come in whole: values, writes, branches, subgraphs, interrupts; and are resumed here", async () => {
  const { SqliteSaver } = await import(entry("@langchain/langgraph-checkpoint-sqlite"));
  const dir = makeRepository();
  const folder = mkdtempSync(path.join(tmpdir(), "sqlite-"));
  const file = path.join(folder, "threads.db");
  const from = SqliteSaver.fromConnString(file);
  const saver = open(dir);
  try {
    const graph = build(from);
    await graph.invoke({ value: ["in"] }, at("waits"));
    await graph.invoke({ value: [] }, at("done"));
    await graph.invoke(new Command({ resume: "Ann" }), at("done"));
    const history = [];
    for await (const state of graph.getStateHistory(at("done"))) history.push(state);
    const early = history.find((state) => state.next[0] === "inner");
    await graph.updateState(early.config, { value: ["changed"] }); // a branch

    const steps = [];
    const count = await saver.importThreads(from, { onProgress: (p) => steps.push(p) });
    const all = await everything(from);
    expect(count).toBe(all.length);
    expect(all.length).toBeGreaterThan(10);
    expect(steps.at(-1)).toEqual({ thread: steps.at(-1).thread, checkpoints: count, threads: 2 });
    expect(new Set(all.map((tuple) => tuple.config.configurable.checkpoint_ns)).size).toBe(3); // the graph, and a subgraph in each thread
    expect(await everything(saver)).toEqual(all);

    const frames = documents(dir, "runs").map((run) => run.frames);
    expect(await saver.importThreads(from)).toBe(count); // again: nothing is stored twice
    expect(documents(dir, "runs").map((run) => run.frames)).toEqual(frames);

    expect((await build(saver).invoke(new Command({ resume: "Bob" }), at("waits"))).value).toEqual(["in", "begin", "in", "begin", "hello Bob", "end", "sent", "sent"]);
    expect((await graph.invoke(new Command({ resume: "Bob" }), at("waits"))).value).toEqual(["in", "begin", "in", "begin", "hello Bob", "end", "sent", "sent"]);
  } finally {
    await saver.close();
    from.db.close();
    rmSync(folder, { recursive: true, force: true });
    drop(dir);
  }
});
