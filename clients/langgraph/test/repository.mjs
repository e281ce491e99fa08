// Repositories for tests: each in a folder of its own, checked when it is no longer needed.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";

import { GitSmithersSaver } from "../dist/esm/index.js";

export const BINARY = process.env.GIT_SMITHERS ?? path.resolve(import.meta.dirname, "../../../bin/git-smithers");

const home = mkdtempSync(path.join(tmpdir(), "home-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));

/** The environment of git and git-smithers: nobody's configuration. */
export const ENV = {
  PATH: process.env.PATH,
  HOME: home,
  TMPDIR: tmpdir(),
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_AUTHOR_NAME: "test",
  GIT_AUTHOR_EMAIL: "test@example.invalid",
  GIT_COMMITTER_NAME: "test",
  GIT_COMMITTER_EMAIL: "test@example.invalid",
  ...(process.env.GIT_SMITHERS_CALL_LOG === undefined ? {} : { GIT_SMITHERS_CALL_LOG: process.env.GIT_SMITHERS_CALL_LOG }),
};

/** Runs a command in a repository and returns what it prints. */
export function run(dir, command, ...args) {
  return execFileSync(command, args, { cwd: dir, env: ENV, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 28 });
}

export const git = (dir, ...args) => run(dir, "git", ...args);
export const smithers = (dir, ...args) => run(dir, BINARY, ...args);
/** Returns the documents that a command prints with --json. */
export const documents = (dir, ...args) =>
  smithers(dir, ...args, "--json")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** Makes a repository with one commit. */
export function makeRepository(files = { "README.md": "a test\n" }) {
  const dir = mkdtempSync(path.join(tmpdir(), "langgraph-"));
  git(dir, "init", "-q", "-b", "main");
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
    writeFileSync(path.join(dir, name), content);
  }
  git(dir, "add", "-A");
  git(dir, "commit", "-q", "-m", "begin");
  return dir;
}

/** Checks that everything in a repository is sound. */
export function check(dir) {
  smithers(dir, "verify");
  git(dir, "fsck", "--strict", "--no-dangling");
}

/** Checks a repository and removes it. */
export function drop(dir) {
  check(dir);
  // The server of a client that was killed may still do what waits in its log.
  rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}

/** Opens a saver for a repository. */
export const open = (dir, options = {}) => GitSmithersSaver.open({ repository: dir, binary: BINARY, env: ENV, ...options });
