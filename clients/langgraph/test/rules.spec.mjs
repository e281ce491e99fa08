// The rules that LangGraph expects of a saver, one test for each.
import { existsSync, readFileSync } from "node:fs";

import { Annotation, Command, END, START, Send, StateGraph, entrypoint, interrupt, task } from "@langchain/langgraph";
import { MemorySaver, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";

import { documents, drop, git, makeRepository, open, run, smithers } from "./repository.mjs";

let dir;
let saver;
beforeEach(() => {
  dir = makeRepository();
  saver = open(dir);
});
afterEach(async () => {
  await saver.close();
  drop(dir);
});

let clock = 0;
/** Returns an id that is greater than all before. */
const nextId = () => uuid6(++clock);
const at = (thread_id, checkpoint_ns = "", checkpoint_id = undefined) => ({ configurable: { thread_id, checkpoint_ns, checkpoint_id } });
const metadata = (more = {}) => ({ source: "loop", step: 0, parents: {}, ...more });

/** Puts a checkpoint whose channels all have the same version, and returns its config. */
async function put(config, values, { id = nextId(), version = 1, changed = Object.keys(values), meta = metadata(), versions } = {}) {
  const channel_versions = versions ?? Object.fromEntries(Object.keys(values).map((channel) => [channel, version]));
  const newVersions = Object.fromEntries(changed.map((channel) => [channel, channel_versions[channel]]));
  return saver.put(config, { ...emptyCheckpoint(), id, channel_values: values, channel_versions }, meta, newVersions);
}
const values = async (config) => (await saver.getTuple(config))?.checkpoint.channel_values;
const ids = async (config, options) => {
  const found = [];
  for await (const tuple of saver.list(config, options)) found.push(tuple.config.configurable.checkpoint_id);
  return found;
};

it("R1: the key is thread, namespace and id; the id given to put is the parent", async () => {
  const first = await put(at("t"), { a: 1 });
  const second = await put(first, { a: 2 }, { version: 2 });
  expect(Object.keys(second.configurable).sort()).toEqual(["checkpoint_id", "checkpoint_ns", "thread_id"]);
  expect((await saver.getTuple(second)).parentConfig).toEqual(first);
  expect(await saver.getTuple(at("t", "inner", second.configurable.checkpoint_id))).toBeUndefined();
  await expect(saver.put({}, emptyCheckpoint(), metadata(), {})).rejects.toThrow(/thread_id/);
  await expect(saver.put({ configurable: {} }, emptyCheckpoint(), metadata(), {})).rejects.toThrow(/thread_id/);
});

it("R2: the latest is the greatest id, whatever came last", async () => {
  const [small, great] = [nextId(), nextId()];
  const newest = await put(at("t"), { a: "great" }, { id: great });
  await put(at("t"), { a: "small" }, { id: small });
  expect((await saver.getTuple(at("t"))).config).toEqual(newest);
});

it("R3: before compares ids over all namespaces", async () => {
  const inner = await put(at("t", "inner"), { a: 1 });
  const outer = await put(at("t"), { a: 1 });
  await put(at("t", "inner"), { a: 2 }, { version: 2 });
  expect(await ids(at("t", "inner"), { before: outer, limit: 1 })).toEqual([inner.configurable.checkpoint_id]);
});

it("R4: list takes all threads and namespaces, and compares metadata as JSON", async () => {
  await put(at("one"), { a: 1 }, { meta: metadata({ user: { name: "x" } }) });
  await put(at("two", "inner"), { a: 1 });
  expect(await ids({})).toHaveLength(2);
  expect(await ids({}, { filter: {} })).toHaveLength(2);
  expect(await ids({}, { filter: { user: undefined } })).toHaveLength(2);
  expect(await ids({}, { filter: { user: { name: "x" } } })).toHaveLength(1);
  expect(await ids({}, { filter: { step: 1 } })).toHaveLength(0);
});

it("R5: a thread can have branches and several roots", async () => {
  const root = await put(at("t"), { a: 1 });
  for (const a of [2, 3]) await put(root, { a }, { version: 2 });
  await put(at("t"), { a: "another root" });
  const parents = [];
  for await (const tuple of saver.list(at("t"))) parents.push(tuple.parentConfig?.configurable.checkpoint_id);
  expect(parents).toEqual([undefined, root.configurable.checkpoint_id, root.configurable.checkpoint_id, undefined]);
});

it("R6: a fork has the values and the state of its parent", async () => {
  const root = await put(at("t"), { a: 1, b: "x" });
  await put(root, { a: 2, b: "x" }, { versions: { a: 2, b: 1 }, changed: ["a"] });
  await put(root, { a: 1, b: "x" }, { versions: { a: 1, b: 1 }, changed: [], meta: metadata({ source: "fork" }) });
  const content = (frame) => documents(dir, "show", `t:${frame}`)[0].contentHash;
  expect(content(2)).toBe(content(0));
  expect(content(1)).not.toBe(content(0));
});

it("R7 and R10: writes are known by task and position; the first counts, and the last of a special channel", async () => {
  const config = await put(at("t"), { a: 1 });
  await saver.putWrites(config, [["a", "first"], ["b", 1]], "task");
  await saver.putWrites(config, [["a", "second"]], "task");
  await saver.putWrites(config, [["__interrupt__", "old"]], "task");
  await saver.putWrites(config, [["__interrupt__", "new"]], "task");
  const writes = (await saver.getTuple(config)).pendingWrites;
  expect(writes).toEqual([["task", "__interrupt__", "new"], ["task", "a", "first"], ["task", "b", 1]]);
});

it("R8: a sibling keeps values that no new version names", async () => {
  const root = await put(at("t"), { a: 1 });
  const child = await put(root, { a: 2 }, { version: 2 });
  const sibling = await put(root, { a: 2 }, { version: 2, changed: [] });
  expect(await values(sibling)).toEqual({ a: 2 });
  expect(await values(child)).toEqual({ a: 2 });
});

it("R9: writes may come before their checkpoint, and before any", async () => {
  const id = nextId();
  await saver.putWrites(at("t", "", id), [["a", 1]], "task");
  expect(await saver.getTuple(at("t"))).toBeUndefined();
  await put(at("t"), { a: 0 }, { id });
  expect((await saver.getTuple(at("t"))).pendingWrites).toEqual([["task", "a", 1]]);
});

it("R11: a put with the same id replaces", async () => {
  const config = await put(at("t"), { a: 1 }, { id: "7" });
  await put(at("t"), { a: 2 }, { id: "7" });
  expect(await ids(at("t"))).toEqual(["7"]);
  expect(await values(config)).toEqual({ a: 2 });
});

it("R12: only new versions are stored; a channel without a value is absent", async () => {
  const root = await put(at("t"), { a: 1 });
  const child = await put(root, { a: "ignored", never: 1 }, { versions: { a: 1, never: 5, gone: 3 }, changed: [] });
  expect(await values(child)).toEqual({ a: 1 });
});

it("R13: two branches can have the same version with different values", async () => {
  const root = await put(at("t"), { a: 1 });
  const branches = [];
  for (const a of ["x", "y"]) branches.push(await put(root, { a }, { version: 2 }));
  const children = [];
  for (const branch of branches) children.push(await put(branch, { a: "unchanged" }, { version: 2, changed: [] }));
  expect(await Promise.all(children.map(values))).toEqual([{ a: "x" }, { a: "y" }]);
});

it("R14: tasks that were sent before version 4 come from the parent's writes", async () => {
  const root = await put(at("t"), { a: 1 });
  await saver.putWrites(root, [["__pregel_tasks", "two"]], "task2");
  await saver.putWrites(root, [["__pregel_tasks", "one"]], "task1");
  const old = { ...emptyCheckpoint(), v: 3, id: nextId(), channel_values: { a: 1 }, channel_versions: { a: 1 } };
  const { checkpoint } = await saver.getTuple(await saver.put(root, old, metadata(), {}));
  expect(checkpoint.channel_values.__pregel_tasks).toEqual(["one", "two"]);
  expect(checkpoint.channel_versions.__pregel_tasks).toBe(1);
});

it("R10: writes are in the order of path, task and position, by code point; those without a path come first", async () => {
  const config = await put(at("t"), { log: [] }, { meta: metadata({ counters_since_delta_snapshot: {} }) });
  await saver.putWrites(config, [["log", "astral"]], "1", "~\u{10000}");
  await saver.putWrites(config, [["log", "private"], ["log", "second"]], "2", "~\ue000");
  await saver.putWrites(config, [["log", "same path"]], "0", "~\u{10000}");
  await saver.putWrites(config, [["log", "no path"]], "3");
  await saver.putWrites(config, [["log", "late"]], "1", "!"); // a write that is there stays as it is
  const order = ["no path", "private", "second", "same path", "astral"];
  const channelOf = async (read) => (await read).map(([, , value]) => value);
  expect(await channelOf(saver.getTuple(config).then((tuple) => tuple.pendingWrites))).toEqual(order);
  for await (const tuple of saver.list(at("t"))) expect(tuple.pendingWrites.map(([, , value]) => value)).toEqual(order);
  const next = await put(config, {}, { versions: { log: 2 }, changed: [] });
  const history = await saver.getDeltaChannelHistory({ config: next, channels: ["log"] });
  expect(await channelOf(history.log.writes)).toEqual(order);

  // An import gets tuples, whose order is all that says in which order the tasks wrote.
  const other = makeRepository();
  const copy = open(other);
  try {
    const imported = [];
    for (let i = 0; i < 2; i++) {
      await copy.importThreads(saver);
      expect((await copy.getTuple(config)).pendingWrites.map(([, , value]) => value)).toEqual(order);
      imported.push(git(other, "rev-parse", "refs/smithers/_tip/t"));
    }
    expect(imported[1]).toBe(imported[0]);
    // Another saver can have the writes of a task in two places.
    const mixed = new MemorySaver();
    mixed.list = async function* () {
      yield { config };
    };
    mixed.getTuple = async () => ({ ...(await saver.getTuple(config)), config: at("mixed", "", config.configurable.checkpoint_id), pendingWrites: [["b", "log", 1], ["a", "log", 2], ["b", "log", 3], ["b", "other", 4]] });
    await copy.importThreads(mixed);
    expect((await copy.getTuple(at("mixed"))).pendingWrites.map(([, , value]) => value)).toEqual([1, 2, 3, 4]);
  } finally {
    await copy.close();
    drop(other);
  }
});

it("R12: the tasks that were sent come back as the checkpoint has them", async () => {
  const root = await put(at("t"), { a: 1, __pregel_tasks: [new Send("w", 1)] });
  const sends = async (given, versions) => {
    const config = await put(root, { a: 1, __pregel_tasks: given }, { versions, changed: [] });
    return (await values(config)).__pregel_tasks;
  };
  expect(await sends([], { a: 1, __pregel_tasks: 1 })).toEqual([]);
  expect(await sends([], { a: 1 })).toEqual([]);
  expect(await sends([new Send("w", 2)], { a: 1, __pregel_tasks: 1 })).toMatchObject([{ node: "w", args: 2 }]);
});

it("a value that the serializer destroys is refused by the channel's name", async () => {
  for (const lost of [10n, { deep: [10n] }, () => {}, Symbol("s")]) {
    await expect(put(at("t"), { a: 1, count: lost })).rejects.toThrow(/channel "count" .*serializer/);
  }
  const config = await put(at("t"), { a: "[unable to serialize, circular reference is too complex to analyze]" });
  await expect(saver.putWrites(config, [["count", 10n]], "task")).rejects.toThrow(/channel "count"/);
  for (const durability of ["async", "sync", "exit"]) {
    const graph = new StateGraph(Annotation.Root({ n: Annotation(), x: Annotation() })).addNode("big", () => ({ n: 10n })).addEdge(START, "big").compile({ checkpointer: saver });
    await expect(graph.invoke({ x: 1 }, { ...thread(durability), durability })).rejects.toThrow(/channel "n"/);
  }
});

it("an unknown checkpoint is refused, and does not empty the thread", async () => {
  const graph = new StateGraph(Annotation.Root({ a: Annotation(), b: Annotation() })).addNode("n", () => ({ b: 2 })).addEdge(START, "n").compile({ checkpointer: saver });
  await graph.invoke({ a: 1 }, thread("t"));
  const unknown = at("t", "", nextId());
  await expect(graph.updateState(unknown, { b: 3 })).rejects.toMatchObject({ code: "frame_not_found" });
  await expect(graph.invoke({ b: 3 }, unknown)).rejects.toMatchObject({ code: "frame_not_found" });
  expect((await graph.getState(thread("t"))).values).toEqual({ a: 1, b: 2 });
  expect((await graph.getState(unknown)).values).toEqual({});
  await graph.updateState(at("new", "", nextId()), { b: 3 }, "n"); // nothing to empty
});

it("R12: an update beside a task that waits keeps what a finished task wrote", async () => {
  const State = Annotation.Root({ x: Annotation(), y: Annotation(), z: Annotation() });
  const build = (checkpointer) => new StateGraph(State)
    .addNode("done", () => ({ x: "finished" }))
    .addNode("waits", () => ({ y: interrupt("?") }))
    .addNode("after", ({ x, z }) => ({ z: `${x} after ${z}` }))
    .addEdge(START, "done").addEdge(START, "waits").addEdge("done", "after").addEdge("waits", "after")
    .compile({ checkpointer });
  for (const input of [{ z: 0 }, { x: "before" }]) {
    const seen = [];
    for (const checkpointer of [new MemorySaver(), saver]) {
      const graph = build(checkpointer);
      const thread = at(`t${JSON.stringify(input)}`);
      await graph.invoke(input, thread);
      await graph.updateState(thread, { z: 1 }, "done");
      const states = [(await graph.getState(thread)).values, await graph.invoke(null, thread)];
      for await (const { values: at } of graph.getStateHistory(thread)) states.push(at);
      seen.push(states);
    }
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[1][1].z).toBe("finished after 1");
  }
});

it("R15: the values of DeltaChannels survive keep-latest", async () => {
  let config = await put(at("t"), { list: ["seed"] }, { meta: metadata({ counters_since_delta_snapshot: {} }) });
  for (let i = 1; i <= 5; i++) {
    await saver.putWrites(config, [["list", [i]]], `task${i}`);
    const seed = i === 2 ? { list: ["seed", 1, 2] } : {};
    const meta = metadata({ counters_since_delta_snapshot: { list: [i, i] } });
    config = await put(config, seed, { versions: { list: i + 1 }, changed: Object.keys(seed), meta });
  }
  const before = await saver.getDeltaChannelHistory({ config, channels: ["list"] });
  expect(before.list.seed).toEqual(["seed", 1, 2]);
  expect(before.list.writes.map((write) => write[2])).toEqual([[3], [4], [5]]);
  await saver.prune(["t"]);
  expect(await ids(at("t"))).toHaveLength(4);
  expect(await saver.getDeltaChannelHistory({ config, channels: ["list"] })).toEqual(before);
});

const hostile = ["..", "a/b", "a", "-x", "@", "x:1", "x".repeat(400), "\u{1f642}", "a\nb", "con", ".lock", "a.lock", "%2f", "A", "\\", " ", "~^:?*[", "日本語"];

it.each(hostile)("R16: %j is a thread, a namespace, a channel and a task", async (name) => {
  const config = await put(at(name, name), { [name]: name, toString: 1, ["__proto__"]: 2, constructor: null, "": "empty" });
  await saver.putWrites(config, [[name, name]], name);
  const tuple = await saver.getTuple(at(name, name));
  const want = Object.create(null);
  for (const [k, v] of [[name, name], ["toString", 1], ["constructor", null], ["", "empty"]]) want[k] = v;
  for (const channel of Object.keys(want)) expect(Object.entries(tuple.checkpoint.channel_values)).toContainEqual([channel, want[channel]]);
  expect(tuple.pendingWrites).toEqual([[name, name, name]]);
  expect(tuple.config.configurable).toMatchObject({ thread_id: name, checkpoint_ns: name });
});

it("R16: names of all kinds side by side are not mixed up", async () => {
  for (const name of hostile) await put(at(name), { [name]: name });
  for (const name of hostile) expect(await values(at(name))).toEqual({ [name]: name });
  await expect(put(at("half \ud800"), { a: 1 })).rejects.toThrow(/surrogate/);
});

it("R17: deleteThread deletes one thread, which can begin again", async () => {
  const config = await put(at("t"), { a: 1 });
  await put(at("t", "inner"), { a: 1 });
  await put(at("tt"), { a: 1 });
  await saver.deleteThread("t");
  await saver.deleteThread("unknown");
  expect(await ids(at("t"))).toEqual([]);
  expect(await ids(at("tt"))).toHaveLength(1);
  // What comes too late does not bring it back.
  await saver.putWrites(config, [["a", 1]], "task");
  await put(config, { a: 2 });
  expect(await ids(at("t"))).toEqual([]);
  await put(at("t"), { a: "anew" });
  expect(await values(at("t"))).toEqual({ a: "anew" });
  await saver.deleteThread("t");
  expect(await ids(at("t"))).toEqual([]);
  smithers(dir, "prune", "--undo", "t");
  expect(await values(at("t"))).toEqual({ a: "anew" });
});

it("R18: several clients can write one thread", async () => {
  const others = [saver, open(dir), open(dir)];
  const root = await put(at("t"), { a: 0 });
  const stored = await Promise.all(
    others.map(async (other, client) => {
      const mine = [];
      for (let i = 0; i < 20; i++) {
        const checkpoint = { ...emptyCheckpoint(), id: `${nextId()}-${client}`, channel_values: { a: [client, i] }, channel_versions: { a: 2 } };
        const config = await other.put(root, checkpoint, metadata(), { a: 2 });
        await other.putWrites(config, [["a", [client, i]]], "task");
        mine.push([config, [client, i]]);
      }
      return mine;
    }),
  );
  for (const [config, value] of stored.flat()) {
    const tuple = await others[1].getTuple(config);
    expect(tuple.checkpoint.channel_values.a).toEqual(value);
    expect(tuple.pendingWrites).toEqual([["task", "a", value]]);
  }
  await Promise.all(others.slice(1).map((other) => other.close()));
});

it("R19: values come back as JsonPlus makes them", async () => {
  const given = {
    map: new Map([["k", new Set([1, 2])]]),
    regexp: /a+/gi,
    bytes: new Uint8Array([0, 10, 255]),
    nul: "a\0b",
    half: "\ud800",
    nothing: null,
    text: "line\nline",
    large: "x".repeat(100_000),
    deep: JSON.parse("[".repeat(1500) + "]".repeat(1500)),
  };
  const got = await values(await put(at("t"), given));
  expect(got.map.get("k")).toEqual(new Set([1, 2]));
  expect(String(got.regexp)).toBe("/a+/gi");
  expect([...got.bytes]).toEqual([0, 10, 255]);
  for (const same of ["nul", "half", "nothing", "text", "large"]) expect(got[same]).toEqual(given[same]);
  expect(JSON.stringify(got.deep)).toBe(JSON.stringify(given.deep));
});

it("a value that grows is sent without its beginning, and comes back whole", async () => {
  let config = at("t");
  const list = [];
  for (let i = 0; i < 60; i++) {
    list.push(`${i} ${"x".repeat(500)}`);
    config = await put(config, { list: [...list] }, { version: i + 1 });
  }
  expect(await values(config)).toEqual({ list });
  const other = open(dir); // knows nothing of what was sent
  const next = await other.put(config, { ...emptyCheckpoint(), id: nextId(), channel_values: { list }, channel_versions: { list: 60 } }, metadata(), {});
  expect((await other.getTuple(next)).checkpoint.channel_values).toEqual({ list });
  await other.close();
});

it("copyThread makes a fork with the writes, and nothing is copied", async () => {
  const first = await put(at("t"), { a: 1 });
  const second = await put(first, { a: 2 }, { version: 2 });
  await saver.putWrites(second, [["__interrupt__", { value: "?" }]], "task");
  await saver.copyThread("t", "copy");
  await saver.copyThread("t", "early", first.configurable.checkpoint_id);
  expect(await ids(at("copy"))).toEqual(await ids(at("t")));
  expect((await saver.getTuple(at("copy"))).pendingWrites).toEqual((await saver.getTuple(second)).pendingWrites);
  expect(await ids(at("early"))).toEqual([first.configurable.checkpoint_id]);
  await put(at("copy", "", second.configurable.checkpoint_id), { a: 3 }, { version: 3 });
  expect(await values(at("copy"))).toEqual({ a: 3 });
  expect(await values(at("t"))).toEqual({ a: 2 });
  await expect(saver.copyThread("t", "copy")).rejects.toMatchObject({ code: "run_exists" });
  await expect(saver.copyThread("nobody", "x")).rejects.toMatchObject({ code: "run_not_found" });
});

it("prune keeps the latest of each namespace, or nothing", async () => {
  let config = at("t");
  for (let i = 1; i <= 5; i++) config = await put(config, { a: i }, { version: i });
  const inner = await put(at("t", "inner"), { b: 1 }, { meta: metadata({ parents: { "": config.configurable.checkpoint_id } }) });
  await saver.putWrites(config, [["a", 9]], "task");
  await saver.prune(["t", "unknown"]);
  expect((await ids({ configurable: { thread_id: "t" } })).sort()).toEqual([config, inner].map((c) => c.configurable.checkpoint_id).sort());
  expect(await values(at("t"))).toEqual({ a: 5 });
  expect((await saver.getTuple(config)).pendingWrites).toEqual([["task", "a", 9]]);
  await put(config, { a: 6 }, { version: 6 });
  expect(await values(at("t"))).toEqual({ a: 6 });
  await saver.prune(["t"], { strategy: "delete" });
  expect(await saver.getTuple(at("t"))).toBeUndefined();
  await expect(saver.prune(["t"], { strategy: "some" })).rejects.toThrow(/strategy/);
});

it("deleteForRuns drops the checkpoints of runs", async () => {
  const keep = await put(at("t"), { a: 1 }, { meta: metadata({ run_id: "keep" }) });
  await put(keep, { a: 2 }, { version: 2, meta: metadata({ run_id: "drop" }) });
  await put(at("all"), { a: 2 }, { meta: metadata({ run_id: "drop" }) });
  expect(await saver.deleteForRuns(["drop"])).toBe(2);
  expect(await ids({})).toEqual([keep.configurable.checkpoint_id]);
  const warned = new Promise((resolve) => process.once("warning", resolve));
  expect(await saver.deleteForRuns(["drop"])).toBe(0);
  expect((await warned).message).toMatch(/deleted nothing/);

  // a server that dies between the deletion and its answer is asked again, and has nothing left to delete: no cause for a warning
  await put(at("all"), { a: 3 }, { meta: metadata({ run_id: "drop" }) });
  const { take } = saver.client;
  saver.client.take = function (child, header, blobs) {
    if (header.result?.checkpoints === 1) child.kill("SIGKILL");
    else take.call(this, child, header, blobs);
  };
  const warnings = vi.spyOn(process, "emitWarning");
  expect(await saver.deleteForRuns(["drop"])).toBe(0);
  expect(warnings).not.toHaveBeenCalled();
  warnings.mockRestore();
});

it("threads are runs: the commands show, compare, fork and send them", async () => {
  const graph = new StateGraph(Annotation.Root({ topic: Annotation(), joke: Annotation() }))
    .addNode("generateTopic", () => ({ topic: "socks" }))
    .addNode("writeJoke", ({ topic }) => ({ joke: `about ${topic}` }))
    .addEdge(START, "generateTopic")
    .addEdge("generateTopic", "writeJoke")
    .addEdge("writeJoke", END)
    .compile({ checkpointer: saver });
  await graph.invoke({}, at("jokes"));
  const fork = await graph.updateState((await graph.getStateHistory(at("jokes")).next()).value.parentConfig, { topic: "ducks" });
  await graph.invoke(null, fork);

  expect(smithers(dir, "timeline", "jokes", "--all")).toMatch(/step 1: loop, next writeJoke/);
  const id = fork.configurable.checkpoint_id;
  expect(documents(dir, "show", `jokes@${id}`)[0].frame).toBe(4);
  expect(git(dir, "diff", "refs/smithers/jokes/3", "refs/smithers/jokes/5")).toMatch(/^-\["joke::0","about socks"\]\n.*^\+\["joke::0","about ducks"\]/ms);
  expect(smithers(dir, "diff", "jokes:3", "jokes:5")).toContain("ducks");
  expect(documents(dir, "sql", "select * from channels where node_id = 'joke'")).not.toHaveLength(0);
  expect(documents(dir, "runs", "--workflow", "langgraph")).toHaveLength(1);
  smithers(dir, "fork", "jokes:3", "--run-id", "jokes2");
  expect((await graph.getState(at("jokes2"))).values).toEqual({ topic: "socks", joke: "about socks" });
  smithers(dir, "compare", "jokes", "jokes2");
  expect(smithers(dir, "timeline", "jokes", "--tree")).toMatch(/jokes2/);
  expect(documents(dir, "branches", "jokes").map((doc) => doc.runId)).toContain("jokes2");
  smithers(dir, "bundle", "jokes2", "-o", `${dir}/jokes.bundle`);
  smithers(dir, "prune", "jokes2");
  expect(documents(dir, "runs")).toHaveLength(1);
  smithers(dir, "prune", "--undo", "jokes2");
  smithers(dir, "report", "jokes", "-o", `${dir}/jokes.html`);
  expect(() => smithers(dir, "resume", "jokes")).toThrow();
});

/** Returns the config of a thread as a program has it. */
const thread = (thread_id) => ({ configurable: { thread_id } });

it("interrupts stand in the inbox, and an answer given there resumes the thread at the next invoke", async () => {
  const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const graph = new StateGraph(State)
    .addNode("ask", () => ({ value: [interrupt("name?"), interrupt({ question: "age?" })] }))
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  await graph.invoke({ value: [] }, thread("t"));
  expect(documents(dir, "runs")[0].status).toBe("waiting-human");
  const inbox = () => documents(dir, "inbox");
  expect(inbox()).toMatchObject([{ runId: "t", nodeId: "ask", requestKind: "json", prompt: "name?" }]);
  smithers(dir, "answer", "t", "ask", "--value", '"Alice"');
  expect(inbox()).toEqual([]);
  expect((await graph.invoke(null, thread("t"))).__interrupt__.map((one) => one.value)).toEqual([{ question: "age?" }]);
  expect(inbox()).toMatchObject([{ runId: "t", prompt: '{"question":"age?"}' }]);
  smithers(dir, "answer", "t", "--value", "30");
  expect((await graph.invoke(null, thread("t"))).value).toEqual(["Alice", 30]);
  expect(documents(dir, "runs")[0].status).toBe("finished");

  // A copy asks for itself.
  await graph.invoke({ value: [] }, thread("c"));
  await saver.copyThread("c", "copy");
  expect(inbox().map((doc) => doc.runId).sort()).toEqual(["c", "copy"]);
  smithers(dir, "answer", "copy", "--value", '"Carol"');
  expect((await graph.invoke(null, thread("copy"))).__interrupt__.map((one) => one.value)).toEqual([{ question: "age?" }]);
  await saver.prune(["c", "copy"], { strategy: "delete" });

  // An answer given in the program closes the request, and a fork withdraws it.
  await graph.invoke({ value: [] }, thread("u"));
  await graph.invoke(new Command({ resume: "Bob" }), thread("u"));
  expect(inbox()).toMatchObject([{ runId: "u", prompt: '{"question":"age?"}' }]);
  await graph.updateState(thread("u"), { value: ["forked"] }, "ask");
  expect(inbox()).toEqual([]);
  expect(documents(dir, "inbox", "--all").map((doc) => doc.status).sort()).toEqual(["answered", "answered", "answered", "cancelled"]);
});

it("smithers.notify tells of a thread that waits and of one that has finished", async () => {
  const told = `${dir}/.git/told`;
  run(dir, "git", "config", "--global", "smithers.notify", `cat >/dev/null; echo "$SMITHERS_EVENT $SMITHERS_RUN_ID" >>"${told}"`);
  const graph = new StateGraph(Annotation.Root({ value: Annotation() }))
    .addNode("ask", () => ({ value: interrupt("name?") }))
    .addEdge(START, "ask")
    .compile({ checkpointer: saver });
  await graph.invoke({}, thread("t"));
  const says = () => (existsSync(told) ? readFileSync(told, "utf8") : "");
  await expect.poll(says, { timeout: 20_000 }).toBe("waits t\n");
  await graph.invoke(new Command({ resume: "Bob" }), thread("t"));
  await expect.poll(says, { timeout: 20_000 }).toBe("waits t\nfinished t\n");
  run(dir, "git", "config", "--global", "--unset", "smithers.notify");
});

it("several tasks that wait are answered one by one in the inbox", async () => {
  const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const graph = new StateGraph(State)
    .addNode("a", () => ({ value: [interrupt("a?")] }))
    .addNode("b", () => ({ value: [interrupt("b?")] }))
    .addEdge(START, "a")
    .addEdge(START, "b")
    .compile({ checkpointer: saver });
  await graph.invoke({ value: [] }, thread("t"));
  const open = documents(dir, "inbox");
  expect(open.map((doc) => doc.prompt).sort()).toEqual(["a?", "b?"]);
  for (const doc of open) smithers(dir, "answer", "t", doc.nodeId, "--iteration", `${doc.iteration}`, "--value", JSON.stringify(`to ${doc.prompt}`));
  expect((await graph.invoke(null, thread("t"))).value.sort()).toEqual(["to a?", "to b?"]);
});

it("interrupts with one id are one request, whose answer reaches the task of a functional graph, and no other question", async () => {
  const work = task("work", async (x) => `${interrupt(`work ${x}?`)}!`);
  const flow = entrypoint({ name: "flow", checkpointer: saver }, async () => [await work(1), await work(2), interrupt("last?")]);
  for (const durability of ["async", "sync"]) {
    const config = { ...thread(durability), durability };
    await flow.invoke("", config);
    for (const prompt of ["work 1?", "work 2?", "last?"]) {
      expect(documents(dir, "inbox")).toMatchObject([{ runId: durability, prompt }]);
      smithers(dir, "answer", durability, "--text", prompt);
      await flow.invoke(null, config);
    }
    expect((await flow.getState(config)).next).toEqual([]);
    expect(documents(dir, "inbox", "--all").filter((doc) => doc.runId === durability).map((doc) => doc.status)).toEqual(["answered", "answered", "answered"]);
    expect((await saver.getTuple(thread(durability))).checkpoint.channel_values.__end__).toEqual(["work 1?!", "work 2?!", "last?"]);
  }
});

it("answer --interrupt answers one question of several, also of tasks in a subgraph and of a question that follows", async () => {
  const State = Annotation.Root({ log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const ask = (name) => () => ({ log: [[name, interrupt(`${name} first?`), interrupt(`${name} then?`)].join()] });
  const inner = new StateGraph(State).addNode("x", ask("x")).addNode("y", ask("y")).addEdge(START, "x").addEdge(START, "y").compile();
  const graph = new StateGraph(State).addNode("sub", inner).addNode("z", ask("z")).addEdge(START, "sub").addEdge(START, "z").compile({ checkpointer: saver });
  let asked = (await graph.invoke({ log: [] }, thread("t"))).__interrupt__;
  expect(documents(dir, "inbox").map((doc) => doc.prompt).sort()).toEqual(asked.map((one) => one.value).sort());
  const said = [];
  for (let rounds = 0; asked?.length && rounds < 10; rounds++) {
    const [{ id, value }] = asked.sort((a, b) => (a.value < b.value ? 1 : -1)); // another one than LangGraph's first
    said.push(value);
    smithers(dir, "answer", "t", "--interrupt", id, "--text", value.toUpperCase());
    asked = (await graph.invoke(null, thread("t"))).__interrupt__;
    expect(documents(dir, "inbox").map((doc) => doc.prompt).sort()).toEqual((asked ?? []).map((one) => one.value).sort());
  }
  expect(said).toHaveLength(6);
  expect((await graph.getState(thread("t"))).values.log.sort()).toEqual(["x", "y", "z"].map((name) => `${name},${name.toUpperCase()} FIRST?,${name.toUpperCase()} THEN?`));
  expect(() => smithers(dir, "answer", "t", "--interrupt", "nothing", "--yes")).toThrow(/no open interrupt/);
  expect(() => smithers(dir, "answer", "t", "z", "--interrupt", "nothing", "--yes")).toThrow(/already names/);
});

it("an interrupt that the serializer hides is listed as unreadable, and only the program can answer it", async () => {
  const plain = new MemorySaver().serde;
  const turned = (bytes) => Uint8Array.from(bytes, (byte) => byte ^ 255);
  const serde = {
    dumpsTyped: async (value) => ["turned", turned((await plain.dumpsTyped(value))[1])],
    loadsTyped: async (type, bytes) => plain.loadsTyped("json", turned(bytes)),
  };
  const secret = open(dir, { serde });
  const graph = new StateGraph(Annotation.Root({ a: Annotation() })).addNode("n", () => ({ a: interrupt("secret?") })).addEdge(START, "n").compile({ checkpointer: secret });
  await graph.invoke({ a: 0 }, thread("t"));
  expect(documents(dir, "inbox")).toMatchObject([{ runId: "t", nodeId: "n", prompt: expect.stringMatching(/^unreadable/) }]);
  expect(() => smithers(dir, "answer", "t", "--yes")).toThrow(/only the program/);
  expect((await graph.invoke(new Command({ resume: "yes" }), thread("t"))).a).toBe("yes");
  expect(documents(dir, "inbox")).toEqual([]);
  await secret.close();
});
