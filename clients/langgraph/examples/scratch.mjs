// A scratch repository for the examples, or the one that the first argument names.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { GitSmithersSaver } from "@git-smithers/langgraph";

/** Prints texts as they are, and everything else as JSON: Node and Bun print objects differently. */
export const say = (...parts) => console.log(...parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part))));

/** Makes a repository with one commit. */
export function makeRepository() {
  const dir = mkdtempSync(join(tmpdir(), "threads-"));
  const git = (...args) => execFileSync("git", ["-C", dir, "-c", "user.name=example", "-c", "user.email=example@example.invalid", ...args]);
  git("init", "-q", "-b", "main");
  git("commit", "-q", "--allow-empty", "-m", "begin");
  return dir;
}

/** Calls an example with a saver, and removes the repository if it was made here. */
export async function withSaver(example, options = {}) {
  const given = process.argv[2];
  const repository = given ?? makeRepository();
  const saver = GitSmithersSaver.open({ repository, ...options });
  try {
    await example(saver, repository);
  } finally {
    await saver.close();
    if (given === undefined) rmSync(repository, { recursive: true, force: true });
  }
}

/** Returns the states of a thread, oldest first. */
export async function history(graph, config) {
  const states = [];
  for await (const state of graph.getStateHistory(config)) states.push(state);
  return states.reverse();
}

const idOf = (config) => config?.configurable?.checkpoint_id;

/** Prints the checkpoints of a thread: each with its parent, where it comes from, and what is next. */
export async function printTree(graph, config) {
  const states = await history(graph, config);
  const name = new Map(states.map((state, i) => [idOf(state.config), `c${i}`]));
  for (const state of states) {
    const parent = name.get(idOf(state.parentConfig)) ?? "none";
    say(`  ${name.get(idOf(state.config))} after ${parent}: ${state.metadata.source}, next [${state.next}], ${JSON.stringify(state.values)}`);
  }
  return states;
}

export const thread = (thread_id) => ({ configurable: { thread_id } });
