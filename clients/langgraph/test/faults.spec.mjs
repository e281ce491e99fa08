// What goes wrong: processes that die, repositories that vanish, input that is bad. Nothing that was acknowledged is lost.
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";

import { BINARY, ENV, check, drop, makeRepository, open, smithers } from "./repository.mjs";

const metadata = { source: "loop", step: 0, parents: {} };
const at = (thread_id) => ({ configurable: { thread_id } });
let clock = 0;
const checkpoint = (a) => ({ ...emptyCheckpoint(), id: uuid6(++clock), channel_values: { a }, channel_versions: { a: clock } });
const put = (saver, config, a) => {
  const c = checkpoint(a);
  return saver.put(config, c, metadata, c.channel_versions);
};

it("a server that is killed again and again loses nothing that was acknowledged", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const stored = [];
  let ended = false;
  const killer = (async () => {
    for (let i = 0; i < 12; i++) {
      const before = stored.length; // a server that answers nothing before it dies three times is given up
      while (stored.length < before + 2) await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
      if (saver.client.pid) process.kill(saver.client.pid, "SIGKILL");
    }
    ended = true;
  })();
  let config = at("t");
  for (let i = 0; !ended || i < 20; i++) {
    config = await put(saver, config, i);
    await saver.putWrites(config, [["a", i]], "task");
    stored.push([config, i]);
  }
  await killer;
  await saver.close();
  const other = open(dir);
  for (const [at, i] of stored) {
    const tuple = await other.getTuple(at);
    expect(tuple.checkpoint.channel_values).toEqual({ a: i });
    expect(tuple.pendingWrites).toEqual([["task", "a", i]]);
  }
  await other.close();
  drop(dir);
});

it("a client that is killed loses nothing that was acknowledged", async () => {
  const dir = makeRepository();
  const script = `
    import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
    import { GitSmithersSaver } from "@git-smithers/langgraph";
    const saver = GitSmithersSaver.open();
    let config = { configurable: { thread_id: "t" } };
    for (let i = 0; ; i++) {
      const c = { ...emptyCheckpoint(), id: uuid6(i), channel_values: { a: i }, channel_versions: { a: i } };
      config = await saver.put(config, c, { source: "loop", step: i, parents: {} }, { a: i });
      console.log(c.id, i);
    }`;
  const file = path.resolve(import.meta.dirname, `killed-${process.pid}.mjs`);
  writeFileSync(file, script);
  try {
    const child = spawn(process.execPath, [file], { cwd: dir, env: { ...ENV, GIT_SMITHERS: BINARY }, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (out.split("\n").length > 50) child.kill("SIGKILL");
    });
    await new Promise((resolve) => child.on("close", resolve));
    const saver = open(dir);
    for (const line of out.split("\n").slice(0, -1)) {
      const [id, i] = line.split(" ");
      const tuple = await saver.getTuple({ configurable: { thread_id: "t", checkpoint_id: id } });
      expect(tuple.checkpoint.channel_values.a).toBe(Number(i));
    }
    await saver.close();
  } finally {
    rmSync(file);
  }
  drop(dir);
});

it("Ctrl-C goes to the program alone, and a server that gets a signal answers what it has", async () => {
  const dir = makeRepository();
  const file = path.resolve(import.meta.dirname, `signal-${process.pid}.mjs`);
  writeFileSync(
    file,
    `import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
     import { GitSmithersSaver } from "@git-smithers/langgraph";
     const saver = GitSmithersSaver.open();
     let stop = false;
     process.on("SIGINT", () => setTimeout(() => (stop = true), 300));
     for (let i = 0; !stop; i++) {
       const c = { ...emptyCheckpoint(), id: String(i).padStart(6, "0"), channel_values: { a: i }, channel_versions: { a: i } };
       await saver.put({ configurable: { thread_id: "t" } }, c, { source: "loop", step: i, parents: {} }, { a: i });
       if (i === 20) console.log(saver.client.pid);
     }
     await saver.close();
     console.log(saver.client.crashes);`,
  );
  try {
    const child = spawn(process.execPath, [file], { cwd: dir, env: { ...ENV, GIT_SMITHERS: BINARY }, stdio: ["ignore", "pipe", "inherit"], detached: true });
    let out = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
      if (out.split("\n").length === 2) process.kill(-child.pid, "SIGINT"); // as a terminal does
    });
    expect(await new Promise((resolve) => child.on("close", resolve))).toBe(0);
    expect(out.split("\n")).toHaveLength(3);
  } finally {
    rmSync(file);
  }
  const saver = open(dir);
  let config = at("u");
  for (let i = 0; i < 40; i++) {
    config = await put(saver, config, i);
    if (i % 10 === 5) process.kill(saver.client.pid, i % 20 === 5 ? "SIGINT" : "SIGTERM");
  }
  expect((await saver.getTuple(at("u"))).checkpoint.channel_values).toEqual({ a: 39 });
  await saver.close();
  drop(dir);
});

it("a server that cannot be started is a clear error", async () => {
  const dir = makeRepository();
  const missing = open(dir, { binary: path.join(dir, "no-such-binary") });
  await expect(missing.getTuple(at("t"))).rejects.toThrow(/cannot start .*no-such-binary.*install git-smithers/s);
  const nowhere = open(path.join(dir, "no-such-folder"));
  await expect(nowhere.getTuple(at("t"))).rejects.toThrow(/cannot start/);
  const empty = mkdtempSync(path.join(tmpdir(), "empty-"));
  await expect(open(empty).getTuple(at("t"))).rejects.toThrow(/not a git repository.*git init/s);
  const crashing = open(dir, { binary: "false" });
  await expect(crashing.getTuple(at("t"))).rejects.toThrow(/ended 3 times in a row/);
  rmSync(empty, { recursive: true });
  drop(dir);
});

it("a binary that is no git-smithers, or an old one, rejects the calls and is named", async () => {
  const dir = makeRepository();
  const binary = path.join(dir, ".git", "foreign");
  const told = (found) => expect.objectContaining({ code: "server_failed", message: expect.stringMatching(new RegExp(`^${binary}: .*${found}.*needs git-smithers .* with protocol 1`, "s")) });
  for (const [script, found] of [
    ["echo Welcome; cat", "Welcome"],
    ["exec cat", "does not answer"],
    ["exec yes 0", "no answer"],
    [`echo '{"id":0,"result":{"protocol":1}}'; cat`, "no answer"],
    [`echo '{"id":0,"result":{"protocol":1},"blobs":[-1]}'; cat`, "no answer"],
    [`echo '{"id":0,"result":{"protocol":7},"blobs":[]}'; cat`, "does not answer"],
    [`echo '{"id":0,"error":{"code":"invalid_input","message":"this git-smithers speaks protocol 7","hints":[]},"blobs":[]}'; cat`, "speaks protocol 7"],
    [`exec "${BINARY}" serves "$@"`, "is not a command"],
    [`exec "${BINARY}" "$@" --of-old`, "has no flag"],
    ["echo 'no such thing' >&2; exit 1", "ended 3 times in a row .status 1.: no such thing"],
  ]) {
    writeFileSync(binary, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const saver = open(dir, { binary });
    const calls = await Promise.allSettled([saver.getTuple(at("t")), put(saver, at("t"), 1)]);
    for (const { reason } of calls) expect(reason, script).toEqual(told(found));
    await saver.close();
  }
  // A line that comes later ends neither the program nor the saver.
  writeFileSync(binary, `#!/bin/sh\n"${BINARY}" "$@" | while IFS= read -r line; do printf '%s\\n' "$line"; [ -e "${dir}/.git/noisy" ] && echo words; done\n`, { mode: 0o755 });
  const saver = open(dir, { binary });
  expect(await saver.getTuple(at("t"))).toBeUndefined();
  writeFileSync(path.join(dir, ".git", "noisy"), "");
  const flushes = async () => {
    for (;;) await saver.flush();
  };
  await expect(flushes()).rejects.toThrow(/words/);
  rmSync(path.join(dir, ".git", "noisy"));
  expect(await saver.getTuple(at("t"))).toBeUndefined();
  await saver.close();
  const named = open(dir, { binary: "foreign", env: { ...ENV, PATH: `${path.dirname(binary)}:${ENV.PATH}` } });
  writeFileSync(binary, "#!/bin/sh\necho words\n", { mode: 0o755 });
  await expect(named.flush()).rejects.toEqual(told("words"));
  drop(dir);
});

/** Returns a binary that runs as a user without rights to the files of this one, and true if the system has such a user. */
function another() {
  if (process.getuid() !== 0) return [BINARY, false];
  const folder = mkdtempSync(path.join(tmpdir(), "another-"));
  chmodSync(folder, 0o755);
  copyFileSync(BINARY, path.join(folder, "git-smithers"));
  writeFileSync(path.join(folder, "run"), `#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups "${folder}/git-smithers" "$@"\n`, { mode: 0o755 });
  return [path.join(folder, "run"), true];
}

it("a repository that may only be read: reads are answered, writes are rejected, and the saver goes on afterwards", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const config = await put(saver, at("t"), "whole");
  await saver.close();
  const [binary, isAnother] = another();
  execFileSync("chmod", ["-R", isAnother ? "go+rX,go-w" : "a-w", dir]);
  const trusting = { GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" };
  const reader = open(dir, { binary, env: { ...ENV, ...trusting, HOME: "/nonexistent" } });
  expect((await reader.getTuple(at("t"))).checkpoint.channel_values).toEqual({ a: "whole" });
  await expect(put(reader, config, 2)).rejects.toMatchObject({ code: "read_only" });
  await expect(put(reader, at("new"), 2)).rejects.toMatchObject({ code: "read_only" });
  await expect(reader.putWrites(config, [["a", 1]], "task")).rejects.toMatchObject({ code: "read_only" });
  await expect(reader.deleteThread("t")).rejects.toMatchObject({ code: "read_only" });
  execFileSync("chmod", ["-R", isAnother ? "a+rwX" : "u+w", dir]);
  expect((await reader.getTuple(at("t"))).checkpoint.channel_values).toEqual({ a: "whole" });
  await put(reader, config, "later");
  await reader.close();
  if (isAnother) {
    execFileSync("chown", ["-R", "0:0", dir]);
    rmSync(path.dirname(binary), { recursive: true });
  }
  drop(dir);
});

it("a repository that vanishes rejects calls, and none of it is made again", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const config = await put(saver, at("t"), 1);
  await put(saver, config, 3);
  check(dir);
  rmSync(dir, { recursive: true, force: true });
  await expect(put(saver, config, 4)).rejects.toMatchObject({ code: "no_repository" });
  await expect(put(saver, at("new"), 4)).rejects.toMatchObject({ code: "no_repository" });
  expect(existsSync(dir)).toBe(false);
  await saver.close();
});

it("a closed saver rejects calls, and closes twice", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  await put(saver, at("t"), 1);
  await saver.flush();
  await saver[Symbol.asyncDispose]();
  await expect(saver.getTuple(at("t"))).rejects.toThrow(/closed/);
  await saver.close();
  drop(dir);
});

it("a program ends without close, once its calls are answered", () => {
  const dir = makeRepository();
  const file = path.resolve(import.meta.dirname, `open-${process.pid}.mjs`);
  writeFileSync(
    file,
    `import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
     import { GitSmithersSaver } from "@git-smithers/langgraph";
     const saver = GitSmithersSaver.open();
     const c = { ...emptyCheckpoint(), id: "1", channel_values: { a: 1 }, channel_versions: { a: 1 } };
     await saver.put({ configurable: { thread_id: "t" } }, c, { source: "loop", step: 0, parents: {} }, { a: 1 });`,
  );
  try {
    execFileSync(process.execPath, [file], { cwd: dir, env: { ...ENV, GIT_SMITHERS: BINARY }, timeout: 20_000 });
  } finally {
    rmSync(file);
  }
  smithers(dir, "show", "t:0");
  drop(dir);
});

it("two savers have two repositories", async () => {
  const dirs = [makeRepository(), makeRepository()];
  const savers = dirs.map((dir) => open(dir));
  for (const [i, saver] of savers.entries()) await put(saver, at("t"), i);
  for (const [i, saver] of savers.entries()) expect((await saver.getTuple(at("t"))).checkpoint.channel_values).toEqual({ a: i });
  for (const saver of savers) await saver.close();
  for (const dir of dirs) drop(dir);
});

it("1,000 threads, 20 at once", { timeout: 300_000 }, async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const threads = Array.from({ length: 1000 }, (_, i) => `thread ${i}`);
  const work = [...threads];
  const puts = async () => {
    for (let thread = work.pop(); thread !== undefined; thread = work.pop()) {
      let config = at(thread);
      for (let i = 0; i < 4; i++) config = await put(saver, config, [thread, i]);
    }
  };
  await Promise.all(Array.from({ length: 20 }, puts));
  const found = new Set();
  for await (const tuple of saver.list({}, { limit: 1500 })) found.add(tuple.config.configurable.thread_id);
  expect(found.size).toBeGreaterThan(300);
  for (const thread of threads) expect((await saver.getTuple(at(thread))).checkpoint.channel_values.a).toEqual([thread, 3]);
  await saver.close();
  drop(dir);
});

it("files: each checkpoint, or each interrupt, has the files of the moment", async () => {
  const dir = makeRepository();
  const each = open(dir, { files: "checkpoint" });
  writeFileSync(path.join(dir, "agent.txt"), "one\n");
  const config = await put(each, at("each"), 1);
  writeFileSync(path.join(dir, "agent.txt"), "two\n");
  await put(each, config, 2);
  await each.close();
  const asked = open(dir, { files: "interrupt" });
  const waits = await put(asked, at("asked"), 1);
  await asked.putWrites(waits, [["__interrupt__", [{ value: "?" }]]], "task");
  await asked.close();
  expect(smithers(dir, "frames", "--path", "agent.txt")).toMatch(/each/);
  expect(smithers(dir, "diff", "--code", "each:0", "each:1")).toMatch(/-one\n\+two/);
  drop(dir);
});

it("savers of one repository share a server, and go on when it ends", async () => {
  const dir = makeRepository();
  const savers = [open(dir), open(dir), open(dir)];
  const stored = [];
  const work = savers.map(async (saver, n) => {
    let config = at("t");
    for (let i = 0; i < 40; i++) {
      config = await put(saver, config, [n, i]);
      stored.push([config, [n, i]]);
      if (n === 0 && i === 20) await saver.close().then(() => (savers[0] = saver = open(dir)));
    }
  });
  await Promise.all(work);
  for (const [config, a] of stored) expect((await savers[1].getTuple(config)).checkpoint.channel_values).toEqual({ a });
  for (const saver of savers) await saver.close();
  drop(dir);
});

it("a server that lives long keeps nobody waiting: prune collects beside it", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const config = await put(saver, at("t"), 1);
  await put(saver, at("gone"), 1);
  await saver.deleteThread("gone");
  smithers(dir, "prune", "--collect");
  await put(saver, config, 2);
  await put(saver, at("gone"), "anew");
  expect((await saver.getTuple(at("gone"))).checkpoint.channel_values).toEqual({ a: "anew" });
  await saver.close();
  drop(dir);
});
