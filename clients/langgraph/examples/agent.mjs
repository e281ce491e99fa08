// An agent that edits files is interrupted, pushed, and goes on elsewhere: first as its author wanted, then in a fork.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Annotation, Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { GitSmithersSaver } from "@git-smithers/langgraph";

import { makeRepository, say, thread } from "./scratch.mjs";

const BINARY = process.env.GIT_SMITHERS ?? "git-smithers";
const git = (dir, ...args) => execFileSync("git", ["-C", dir, ...args], { encoding: "utf8" });
const smithers = (dir, ...args) => execFileSync(BINARY, args, { cwd: dir, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });

const State = Annotation.Root({ plan: Annotation(), done: Annotation() });

/** The agent writes a draft, asks whether it is good, and writes the end. */
function agent(dir, checkpointer) {
  const file = join(dir, "agent.txt");
  return new StateGraph(State)
    .addNode("draft", ({ plan }) => {
      writeFileSync(file, `draft of ${plan}\n`);
      return {};
    })
    .addNode("ask", () => ({ done: interrupt("Is the draft good?") }))
    .addNode("finish", ({ plan, done }) => {
      writeFileSync(file, `${plan}, finished: ${done}\n`);
      return {};
    })
    .addEdge(START, "draft")
    .addEdge("draft", "ask")
    .addEdge("ask", "finish")
    .compile({ checkpointer });
}

const remote = mkdtempSync(join(tmpdir(), "remote-"));
const [here, there] = [makeRepository(), makeRepository()];
try {
  git(remote, "init", "-q", "--bare");
  for (const dir of [here, there]) git(dir, "remote", "add", "origin", remote);

  const ours = GitSmithersSaver.open({ repository: here, files: "checkpoint" });
  const paused = await agent(here, ours).invoke({ plan: "a poem" }, thread("agent"));
  say("here:", paused.__interrupt__[0].value, "-", readFileSync(join(here, "agent.txt"), "utf8").trim());
  await ours.close();
  smithers(here, "push", "origin", "agent", "--yes");

  smithers(there, "fetch", "origin", "agent");
  smithers(there, "fork", "agent", "--run-id", "agent-2");
  const theirs = GitSmithersSaver.open({ repository: there, files: "checkpoint" });
  const graph = agent(there, theirs);
  smithers(there, "restore", "agent");
  say("there:", readFileSync(join(there, "agent.txt"), "utf8").trim());
  await graph.invoke(new Command({ resume: "yes" }), thread("agent"));
  say("there:", readFileSync(join(there, "agent.txt"), "utf8").trim());
  await graph.updateState(thread("agent-2"), { plan: "a song" });
  await graph.invoke(null, thread("agent-2"));
  await graph.invoke(new Command({ resume: "louder" }), thread("agent-2"));
  say("fork:", readFileSync(join(there, "agent.txt"), "utf8").trim());
  await theirs.close();
  smithers(there, "push", "origin", "agent", "agent-2", "--yes");

  smithers(here, "fetch", "origin");
  const again = GitSmithersSaver.open({ repository: here });
  for (const id of ["agent", "agent-2"]) say(`here, ${id}:`, (await agent(here, again).getState(thread(id))).values);
  await again.close();
} finally {
  for (const dir of [remote, here, there]) rmSync(dir, { recursive: true, force: true });
}
