// Threads go to a remote and come back, and are joined if both sides went on.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";

import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";

import { ENV, check, documents, drop, git, makeRepository, open, smithers } from "./repository.mjs";

const State = Annotation.Root({ value: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
const at = (thread_id) => ({ configurable: { thread_id } });

/** A graph that asks for a name and says hello. */
const build = (checkpointer) =>
  new StateGraph(State)
    .addNode("ask", () => ({ value: [`hello ${interrupt("name?")}`] }))
    .addNode("end", () => ({ value: ["done"] }))
    .addEdge(START, "ask")
    .addEdge("ask", "end")
    .compile({ checkpointer });

let remote;
let clones;
beforeEach(() => {
  remote = mkdtempSync(path.join(tmpdir(), "remote-"));
  execFileSync("git", ["init", "-q", "--bare", remote], { env: ENV });
  clones = [makeRepository(), makeRepository()].map((dir) => ({ dir, saver: open(dir) }));
  for (const { dir } of clones) git(dir, "remote", "add", "origin", remote);
});
afterEach(async () => {
  for (const { dir, saver } of clones) {
    await saver.close();
    drop(dir);
  }
  git(remote, "fsck", "--strict", "--no-dangling");
  rmSync(remote, { recursive: true, force: true });
});

const ids = async (saver, thread) => {
  const found = [];
  for await (const tuple of saver.list(at(thread))) found.push(tuple.config.configurable.checkpoint_id);
  return found;
};

it("a thread that waits is resumed elsewhere, and its end comes back", async () => {
  const [a, b] = clones;
  await build(a.saver).invoke({ value: [] }, at("t"));
  smithers(a.dir, "push", "origin");
  smithers(b.dir, "fetch", "origin");
  expect((await build(b.saver).invoke(new Command({ resume: "Bob" }), at("t"))).value).toEqual(["hello Bob", "done"]);
  smithers(b.dir, "push", "origin");
  smithers(a.dir, "fetch", "origin");
  expect((await build(a.saver).getState(at("t"))).values.value).toEqual(["hello Bob", "done"]);
});

it("a thread that went on at both sides is joined: all checkpoints in one thread, with their ids", async () => {
  const [a, b] = clones;
  await build(a.saver).invoke({ value: [] }, at("t"));
  smithers(a.dir, "push", "origin");
  smithers(b.dir, "fetch", "origin");
  await build(a.saver).invoke(new Command({ resume: "Alice" }), at("t"));
  await build(b.saver).invoke(new Command({ resume: "Bob" }), at("t"));
  const all = new Set([...(await ids(a.saver, "t")), ...(await ids(b.saver, "t"))]);
  smithers(b.dir, "push", "origin");
  const [fetched] = documents(a.dir, "fetch", "origin").filter((doc) => doc.kind === "fetch" || doc.runs);
  expect(JSON.stringify(fetched)).toContain("joined");
  expect(new Set(await ids(a.saver, "t"))).toEqual(all);
  expect(documents(a.dir, "runs")).toHaveLength(1);
  check(a.dir);
  smithers(a.dir, "push", "origin");
  smithers(b.dir, "fetch", "origin");
  expect(await ids(b.saver, "t")).toEqual(await ids(a.saver, "t"));
  const values = [];
  for (const id of all) values.push((await build(b.saver).getState({ configurable: { thread_id: "t", checkpoint_id: id } })).values.value);
  expect(values).toContainEqual(["hello Alice", "done"]);
  expect(values).toContainEqual(["hello Bob", "done"]);
});

it("git smithers push refuses a thread with a secret, and says where it is", async () => {
  const [a] = clones;
  const graph = new StateGraph(Annotation.Root({ token: Annotation() }))
    .addNode("take", () => ({ token: ["ghp", "0aB3dE5fG7hI9jK1lM2nO4pQ6rS8tU0vW2xY"].join("_") }))
    .addEdge(START, "take")
    .compile({ checkpointer: a.saver });
  await graph.invoke({}, at("secret"));
  expect((await graph.getState(at("secret"))).values.token).toMatch(/^ghp_/); // it comes back as it was
  expect(() => smithers(a.dir, "push", "origin")).toThrow(/secret/);
});
