// The commands of git-smithers on a thread: going back, and what they say.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import * as path from "node:path";

import { Annotation, START, StateGraph, interrupt } from "@langchain/langgraph";

import { BINARY, ENV, documents, drop, git, makeRepository, open, smithers } from "./repository.mjs";

let dir;
let saver;
beforeEach(() => {
  dir = makeRepository();
  saver = open(dir, { files: "checkpoint" });
});
afterEach(async () => {
  await saver.close();
  drop(dir);
});

/** Runs a command, and returns its code and what it says on stderr. */
const says = (...args) => {
  const { status, stderr } = spawnSync(BINARY, args, { cwd: dir, env: ENV, encoding: "utf8" });
  return { status, stderr };
};
const config = { configurable: { thread_id: "t" }, durability: "sync" };
const prompts = () => documents(dir, "inbox").map((request) => request.prompt);
let drafts;
/** A graph that writes a draft, asks whether to publish it, and ends. */
const build = () =>
  new StateGraph(Annotation.Root({ log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) }))
    .addNode("draft", () => {
      writeFileSync(path.join(dir, "draft"), `${++drafts}\n`);
      return { log: [`draft ${drafts}`] };
    })
    .addNode("ask", () => ({ log: [interrupt("publish?")] }))
    .addNode("publish", () => ({ log: ["published"] }))
    .addEdge(START, "draft")
    .addEdge("draft", "ask")
    .addEdge("ask", "publish")
    .compile({ checkpointer: saver });
beforeEach(() => (drafts = 0));

it("a reset takes a thread back: LangGraph goes on from there, and after an undo from where it was", async () => {
  const graph = build();
  await graph.invoke({}, config);
  smithers(dir, "answer", "t", "ask", "--value", '"yes"');
  expect((await graph.invoke(null, config)).log).toEqual(["draft 1", "yes", "published"]);

  smithers(dir, "reset", "t:1"); // the draft comes next
  expect((await graph.getState(config)).next).toEqual(["draft"]);
  await graph.invoke(null, config);
  expect(prompts()).toEqual(["publish?"]);
  smithers(dir, "answer", "t", "ask", "--value", '"no"');
  expect((await graph.invoke(null, config)).log).toEqual(["draft 2", "no", "published"]);
  const ids = async () => {
    const found = [];
    for await (const state of graph.getStateHistory(config)) found.push(state.values.log?.at(0));
    return found;
  };
  expect(await ids()).toEqual(["draft 2", "draft 2", "draft 2", undefined, undefined]);

  smithers(dir, "undo", "t");
  expect((await graph.getState(config)).values.log).toEqual(["draft 1", "yes", "published"]);
  expect(await ids()).toEqual(["draft 1", "draft 1", "draft 1", undefined, undefined]);
});

it("a reset to the frame that waits asks again", async () => {
  const graph = build();
  await graph.invoke({}, config);
  smithers(dir, "answer", "t", "ask", "--value", '"no"');
  smithers(dir, "reset", "t:2");
  expect((await graph.getState(config)).tasks[0].interrupts).toEqual([]);
  await graph.invoke(null, config);
  expect((await graph.getState(config)).tasks[0].interrupts).toMatchObject([{ value: "publish?" }]);
  expect(prompts()).toEqual(["publish?"]);
  smithers(dir, "answer", "t", "ask", "--value", '"yes"');
  expect((await graph.invoke(null, config)).log).toEqual(["draft 1", "yes", "published"]);
});

it("a fork or reset to a frame runs its tasks, with every durability, and however fast they and their subgraphs are", async () => {
  const State = Annotation.Root({ log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const done = [];
  const step = (name) => () => {
    done.push(name);
    return { log: [name] };
  };
  const inner = new StateGraph(State).addNode("x", step("x")).addNode("y", step("y")).addEdge(START, "x").addEdge("x", "y").compile();
  const graph = new StateGraph(State)
    .addNode("a", step("a"))
    .addNode("b", step("b"))
    .addNode("sub", inner)
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("a", "sub")
    .compile({ checkpointer: saver });
  for (const durability of ["async", "sync"]) {
    const of = (thread_id) => ({ configurable: { thread_id }, durability });
    await graph.invoke({}, of(durability));
    const { frames } = documents(dir, "timeline", durability, "--all")[0].timeline;
    const frame = frames.find((at) => at.subject.includes("next b, sub")).frameNo;
    smithers(dir, "fork", `${durability}:${frame}`, "--run-id", `${durability}2`);
    smithers(dir, "reset", `${durability}:${frame}`);
    for (const thread of [durability, `${durability}2`]) {
      done.length = 0;
      expect((await graph.getState(of(thread))).next.toSorted()).toEqual(["b", "sub"]);
      expect((await graph.invoke(null, of(thread))).log.toSorted()).toEqual(["a", "a", "b", "x", "y"]);
      expect(done.toSorted()).toEqual(["b", "x", "y"]);
    }
  }
});

it("with durability sync, a frame has the files of its moment", async () => {
  await build().invoke({}, config);
  expect(git(dir, "show", "refs/smithers/t/2:worktree/draft")).toBe("1\n");
  expect(() => git(dir, "show", "refs/smithers/t/1:worktree/draft")).toThrow();
});

it("commands name what continues a thread", async () => {
  await build().invoke({}, config);
  const next = 'graph.invoke(null, { configurable: { thread_id: "t" } }) continues the thread';
  expect(says("answer", "t", "ask", "--value", '"yes"')).toEqual({ status: 0, stderr: `answered: publish? (ask)\n${next}\n` });
  expect(says("fork", "t:1", "--run-id", "other").stderr).toContain('thread_id: "other"');
  expect(says("reset", "t:1").stderr).toContain(next);
  for (const [args, text] of [
    [["resume", "t"], next],
    [["replay", "t:1"], "`git smithers fork t:1` makes a thread"],
    [["cancel", "t"], "`git smithers prune t` deletes the thread"],
    [["signal", "t", "go"], "it waits for no signal"],
  ]) {
    const { status, stderr } = says(...args);
    expect(stderr).toContain(text);
    expect(status).not.toBe(0);
  }
});

it("a reset to a frame of a subgraph goes on in the subgraph, and one to a frame before runs it anew", async () => {
  const done = [];
  const State = Annotation.Root({ log: Annotation({ reducer: (a, b) => a.concat(b), default: () => [] }) });
  const step = (name) => () => {
    done.push(name);
    return { log: [name] };
  };
  const inner = new StateGraph(State)
    .addNode("a", step("a"))
    .addNode("b", step("b"))
    .addNode("c", () => ({ log: [interrupt("go on?")] }))
    .addEdge(START, "a")
    .addEdge("a", "b")
    .addEdge("b", "c")
    .compile();
  const graph = new StateGraph(State)
    .addNode("first", step("first"))
    .addNode("sub", inner)
    .addEdge(START, "first")
    .addEdge("first", "sub")
    .compile({ checkpointer: saver });
  await graph.invoke({}, config);
  const frameOf = (text) => documents(dir, "timeline", "t", "--all")[0].timeline.frames.find((frame) => frame.subject.includes(text)).frameNo;
  const again = async (frame) => {
    done.length = 0;
    smithers(dir, "reset", `t:${frame}`);
    expect((await graph.invoke(null, config)).__interrupt__).toHaveLength(1);
    expect(prompts()).toEqual(["go on?"]);
    return done.join();
  };
  expect(await again(frameOf("next b"))).toBe("b");
  expect(await again(frameOf("next sub"))).toBe("a,b");
  expect(await again(frameOf("next first"))).toBe("first,a,b");
  smithers(dir, "undo", "t");
  smithers(dir, "answer", "t", "--value", '"yes"');
  expect((await graph.invoke(null, config)).log).toEqual(["first", "first", "a", "b", "yes"]);
});
