// The log of calls: a put that needs no answer is acknowledged when its bytes are in a file. Nothing that was acknowledged is lost, and
// nothing is done twice.
import { execFileSync, spawn } from "node:child_process";
import fs, { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import * as path from "node:path";

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";

import { BINARY, ENV, documents, drop, makeRepository, open } from "./repository.mjs";

const at = (thread_id, checkpoint_ns = "") => ({ configurable: { thread_id, checkpoint_ns } });
let clock = 0;
const put = (saver, config, a, { meta = {}, id = uuid6(++clock), versions = { a: clock } } = {}) => {
  const c = { ...emptyCheckpoint(), ts: new Date(1e12 + clock).toISOString(), id, channel_values: { a }, channel_versions: versions };
  return saver.put(config, c, { source: "loop", step: 0, parents: {}, ...meta }, versions);
};
const value = async (saver, config) => (await saver.getTuple(config))?.checkpoint.channel_values.a;
const logs = (dir) => (existsSync(path.join(dir, ".git/smithers/calls")) ? readdirSync(path.join(dir, ".git/smithers/calls")).filter((name) => name.endsWith(".log")) : []);

/** Puts one function of fs in place of another while `during` runs. */
async function fsWith(name, instead, during) {
  const real = fs[name];
  fs[name] = instead(real);
  syncBuiltinESMExports();
  try {
    return await during();
  } finally {
    fs[name] = real;
    syncBuiltinESMExports();
  }
}

/** Returns the number of calls in the log while `during` runs. */
async function noted(during) {
  let calls = 0;
  await fsWith("writevSync", (real) => (...args) => (calls++, real(...args)), during);
  return calls;
}

it("a put that leads on from the last one goes to the log, and commands see it at once", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  const calls = await noted(async () => {
    for (let i = 1; i <= 10; i++) {
      await saver.putWrites(config, [["a", i]], `task${i}`);
      config = await put(saver, config, i);
    }
  });
  expect(calls).toBe(20);
  expect(documents(dir, "timeline", "t")[0].timeline.frames).toHaveLength(11);
  await saver.close();
  expect(logs(dir)).toEqual([]);
  drop(dir);
});

it("what needs an answer does not go to the log", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const first = await put(saver, at("t"), 0);
  const second = await put(saver, first, 1);
  const calls = await noted(async () => {
    await put(saver, at("u"), 0); // begins a thread
    await put(saver, first, 2); // a branch
    await put(saver, second, 3, { id: second.configurable.checkpoint_id }); // puts the same id again
    await put(saver, at("t", "inner"), 4); // begins a namespace
    await saver.putWrites(second, [["__interrupt__", [{ value: "?" }]]], "task");
    await saver.putWrites(second, [["__error__", { message: "no" }]], "task");
    await saver.putWrites(at("unknown", "").configurable && { configurable: { thread_id: "new", checkpoint_ns: "", checkpoint_id: "1" } }, [["a", 1]], "task");
    await saver.putWrites(second, [["a", 1]], "long ".repeat(200));
  });
  expect(calls).toBe(0);
  expect(await value(saver, at("t"))).toBe(2);
  await saver.close();
  drop(dir);
});

it.each(["process", "durable"])("%s: a server and a client that are killed together lose nothing that was acknowledged", { timeout: 120_000 }, async (durability) => {
  const dir = makeRepository();
  const script = `
    import { writeSync } from "node:fs";
    import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
    import { GitSmithersSaver } from "@git-smithers/langgraph";
    const saver = GitSmithersSaver.open({ durability: "${durability}" });
    const thread_id = process.argv[2];
    let config = { configurable: { thread_id } };
    for (let i = 0; ; i++) {
      const c = { ...emptyCheckpoint(), id: uuid6(i), channel_values: { a: i }, channel_versions: { a: i } };
      config = await saver.put(config, c, { source: "loop", step: i, parents: {} }, { a: i });
      await saver.putWrites(config, [["a", i]], "task");
      writeSync(1, c.id + " " + i + " " + saver.client.pid + "\\n");
      if (i % 40 === 39) await new Promise((resolve) => setTimeout(resolve, 20));
    }`;
  const file = path.resolve(import.meta.dirname, `both-${process.pid}-${durability}.mjs`);
  writeFileSync(file, script);
  let lost = 0;
  try {
    for (let round = 0; round < 6; round++) {
      const child = spawn(process.execPath, [file, `t${round}`], { cwd: dir, env: { ...ENV, GIT_SMITHERS: BINARY }, stdio: ["ignore", "pipe", "inherit"] });
      let out = "";
      let server;
      child.stdout.on("data", (chunk) => {
        out += chunk;
        server ??= Number(/^\S+ \d+ (\d+)$/m.exec(out)?.[1]);
        if (out.split("\n").length < 40 * (round + 1) || child.killed) return;
        for (const pid of round % 2 === 0 ? [server, child.pid] : [child.pid, server]) process.kill(pid, "SIGKILL");
        child.kill("SIGKILL");
      });
      await new Promise((resolve) => child.on("close", resolve));
      const acknowledged = out.split("\n").slice(0, -1);
      expect(acknowledged.length).toBeGreaterThan(30);
      const saver = open(dir);
      for (const line of acknowledged) {
        const [checkpoint_id, i] = line.split(" ");
        const tuple = await saver.getTuple({ configurable: { thread_id: `t${round}`, checkpoint_id } });
        if (tuple?.checkpoint.channel_values.a !== Number(i) || tuple.pendingWrites.length !== 1) lost++;
      }
      await saver.close();
    }
  } finally {
    rmSync(file);
  }
  expect(lost).toBe(0);
  drop(dir);
});

it("a disk that is full at any call, and one that takes a part of it, lose nothing", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  const stored = [[config, 0]];
  let fail = 0;
  const full = (real) => (fd, parts) => {
    fail = (fail + 1) % 4;
    if (fail === 1) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    if (fail === 3) return real(fd, [Buffer.concat(parts).subarray(0, 11)]);
    return real(fd, parts);
  };
  await fsWith("writevSync", full, async () => {
    for (let i = 1; i <= 60; i++) {
      config = await put(saver, config, i);
      stored.push([config, i]);
      await saver.putWrites(config, [["a", i]], "task");
      if (i % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 150)); // another log is there
    }
  });
  await fsWith("ftruncateSync", () => () => { throw new Error("input/output error"); }, () =>
    fsWith("writevSync", full, async () => {
      for (let i = 61; i <= 70; i++) stored.push([(config = await put(saver, config, i)), i]);
    }),
  );
  for (const [at, i] of stored) expect(await value(saver, at)).toBe(i);
  await saver.close();
  drop(dir);
});

it("durable: a call is acknowledged when the log is on stable storage", async () => {
  const dir = makeRepository();
  const saver = open(dir, { durability: "durable" });
  let config = await put(saver, at("t"), 0);
  const order = [];
  const slow = (real) => (fd, done) => real(fd, (error) => setTimeout(() => (order.push("synced"), done(error)), 50));
  await fsWith("fdatasync", slow, async () => {
    config = await put(saver, config, 1);
    order.push("acknowledged");
  });
  expect(order).toEqual(["synced", "acknowledged"]);
  await fsWith("fdatasync", () => (fd, done) => done(new Error("input/output error")), async () => {
    await expect(put(saver, config, 2)).rejects.toThrow("input/output error");
  });
  expect(await value(saver, config)).toBe(1);
  await saver.close();
  drop(dir);
});

it("a log that is full is followed by another, and values go on in it", { timeout: 60_000 }, async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let text = "begin ".repeat(1000);
  let config = await put(saver, at("t"), text);
  const stored = [];
  const names = new Set();
  for (let i = 0; i < 60; i++) {
    text = i % 5 === 0 ? `${i} `.repeat(1_000_000) : `${text}${i}`;
    config = await put(saver, config, text);
    stored.push([config, text.length]);
    names.add(saver.client.logName);
    if (i % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  }
  for (const [at, length] of stored) expect((await value(saver, at)).length).toBe(length);
  expect(names.size).toBeGreaterThan(1);
  expect(logs(dir).length).toBeLessThanOrEqual(1);
  await saver.close();
  drop(dir);
});

it("a program that never waits has room for its calls", { timeout: 60_000 }, async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  for (let i = 1; i <= 3000; i++) config = await put(saver, config, i); // only promises that are resolved, unless the log is too long
  expect(await value(saver, config)).toBe(3000);
  await saver.close();
  drop(dir);
});

it("a thread that another program deletes meanwhile does not come back", async () => {
  const dir = makeRepository();
  const [saver, other] = [open(dir), open(dir)];
  let config = await put(saver, at("t"), 0);
  config = await put(saver, config, 1);
  await other.deleteThread("t");
  config = await put(saver, config, 2);
  await saver.putWrites(config, [["a", 2]], "task");
  expect(await saver.getTuple(at("t"))).toBeUndefined();
  expect(await value(saver, await put(saver, at("t"), "anew"))).toBe("anew");
  await saver.close();
  await other.close();
  drop(dir);
});

it("a server that cannot store what is in the log says so to the next call, and stores it later", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  const held = withoutPacks(dir);
  config = await put(saver, config, 1);
  await held.fails(() => saver.flush());
  held.release();
  expect(await value(saver, config)).toBe(1);
  await saver.close();
  drop(dir);
});

/** Makes the repository's objects unwritable by putting a file in place of the folder for packs. */
function withoutPacks(dir) {
  const pack = path.join(dir, ".git/objects/pack");
  fs.renameSync(pack, `${pack}.away`);
  fs.writeFileSync(pack, "");
  return {
    fails: (call) => expect(call()).rejects.toThrow(/calls of a program wait in/),
    release() {
      fs.rmSync(pack);
      fs.renameSync(`${pack}.away`, pack);
    },
  };
}

it("a log that somebody removes is not written any more, and another client's is not either", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  config = await put(saver, config, 1);
  await saver.flush();
  for (const name of logs(dir)) rmSync(path.join(dir, ".git/smithers/calls", name));
  const stored = [];
  for (let i = 2; i < 12; i++) stored.push([(config = await put(saver, config, i)), i]);
  const other = open(dir);
  for (const [at, i] of stored) expect(await value(other, at)).toBe(i);
  await other.close();
  await saver.close();
  drop(dir);
});

it("a server behind a script that is killed leaves the log to the next one", async () => {
  const dir = makeRepository();
  const binary = path.join(dir, ".git", "wrapped");
  writeFileSync(binary, `#!/bin/sh\n"${BINARY}" "$@"\n`, { mode: 0o755 });
  for (let round = 0; round < 3; round++) {
    const saver = open(dir, { binary });
    let config = await put(saver, at(`t${round}`), 0);
    const stored = [];
    for (let i = 1; i <= 300; i++) {
      stored.push([(config = await put(saver, config, i)), i]);
      if (i === 100) process.kill(saver.client.pid, "SIGKILL");
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const [at, i] of stored) expect(await value(saver, at)).toBe(i);
    await saver.close();
  }
  drop(dir);
});

it("a thread that another program deletes and begins again takes what this one goes on with", async () => {
  const dir = makeRepository();
  const [saver, other] = [open(dir), open(dir)];
  let config = await put(saver, at("t"), 0);
  config = await put(saver, config, 1);
  await other.deleteThread("t");
  await put(other, at("t"), "theirs");
  const stored = [];
  for (let i = 2; i < 20; i++) stored.push([(config = await put(saver, config, i)), i]);
  for (const [at, i] of stored) expect(await value(saver, at)).toBe(i);
  await saver.close();
  await other.close();
  drop(dir);
});

it("what a repository refuses is refused at once, and harms no other thread", async () => {
  const dir = makeRepository();
  execFileSync("git", ["config", "smithers.secrets", "refuse"], { cwd: dir, env: ENV });
  const saver = open(dir);
  const config = await put(saver, at("t"), 0);
  await expect(put(saver, config, "ghp_" + "a1B2c3D4e5F6g7H8i9J0".repeat(2).slice(0, 36))).rejects.toMatchObject({ code: "secrets_found" });
  await put(saver, config, 1);
  await put(saver, at("u"), 1);
  await saver.close();
  drop(dir);
});

it("metadata that are no object, and a checkpoint without values, do what they do without a log", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const config = await put(saver, at("t"), 0);
  const next = () => ({ ...emptyCheckpoint(), id: uuid6(++clock) });
  await expect(saver.put(config, next(), null, {})).rejects.toMatchObject({ code: "invalid_input" });
  await expect(saver.put(config, next(), undefined, {})).rejects.toMatchObject({ code: "invalid_input" });
  await saver.put(config, { ...next(), channel_values: undefined }, { source: "loop", step: 0, parents: {} }, {});
  expect(await value(saver, config)).toBe(0);
  await saver.close();
  drop(dir);
});

it("a client that was idle for ten minutes asks for another log", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  let config = await put(saver, at("t"), 0);
  config = await put(saver, config, 1);
  const first = saver.client.logName;
  const { now } = Date;
  Date.now = () => now() + 601_000;
  try {
    expect(saver.client.logName).toBe("");
    for (let i = 2; i < 20; i++) {
      config = await put(saver, config, i);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect(saver.client.logName).not.toBe("");
    expect(saver.client.logName).not.toBe(first);
  } finally {
    Date.now = now;
  }
  expect(await value(saver, config)).toBe(19);
  await saver.close();
  expect(logs(dir)).toEqual([]);
  drop(dir);
});

it("a program that ends without close leaves a log that is removed by the next command", () => {
  const dir = makeRepository();
  const file = path.resolve(import.meta.dirname, `ends-${process.pid}.mjs`);
  writeFileSync(
    file,
    `import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
     import { GitSmithersSaver } from "@git-smithers/langgraph";
     const saver = GitSmithersSaver.open();
     let config = { configurable: { thread_id: "t" } };
     for (let i = 0; i < 9; i++) {
       const c = { ...emptyCheckpoint(), id: uuid6(i), channel_values: { a: i }, channel_versions: { a: i } };
       config = await saver.put(config, c, { source: "loop", step: i, parents: {} }, { a: i });
     }`,
  );
  try {
    execFileSync(process.execPath, [file], { cwd: dir, env: { ...ENV, GIT_SMITHERS: BINARY }, timeout: 20_000 });
  } finally {
    rmSync(file);
  }
  expect(documents(dir, "timeline", "t")[0].timeline.frames).toHaveLength(9);
  expect(logs(dir)).toEqual([]);
  drop(dir);
});

it("close says what could not be stored, and ends the server all the same", async () => {
  const dir = makeRepository();
  const saver = open(dir);
  const config = await put(saver, at("t"), 0);
  await put(saver, config, 1);
  const held = withoutPacks(dir);
  await expect(saver.close()).rejects.toThrow(/calls of a program wait in/);
  held.release();
  expect(documents(dir, "timeline", "t")[0].timeline.frames).toHaveLength(2);
  expect(logs(dir)).toEqual([]);
  drop(dir);
});

// The same calls give the same thread, whether they go through the log or not.
it("random calls give the same threads with a log and without", { timeout: 120_000 }, async () => {
  let seed = 7;
  const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  const dirs = [makeRepository(), makeRepository()];
  const savers = [open(dirs[0]), open(dirs[1], { env: { ...ENV, GIT_SMITHERS_CALL_LOG: "0" } })];
  const known = [];
  for (let step = 0; step < 400; step++) {
    const thread = `t${random(3)}`;
    const ns = random(4) === 0 ? "inner" : "";
    const mine = known.filter((k) => k.thread === thread && k.ns === ns);
    const parent = mine.length === 0 || random(30) === 0 ? undefined : random(5) === 0 ? mine[random(mine.length)] : mine.at(-1);
    const action = random(10);
    if (action < 3 && parent !== undefined) {
      const channel = ["a", "b", "__interrupt__", "__error__"][random(8) % (random(5) === 0 ? 4 : 2)];
      const writes = [[channel, random(100)], ["b", step]];
      const path = random(2) === 0 ? undefined : "p";
      for (const saver of savers) await saver.putWrites(parent.config, writes, `task${step % 3}`, path);
      continue;
    }
    if (action === 9 && random(10) === 0 && mine.length > 3) {
      for (const saver of savers) await saver.prune([thread]);
      known.splice(0, known.length, ...known.filter((k) => k.thread !== thread));
      continue;
    }
    const id = uuid6(++clock);
    const values = { ...parent?.values };
    const versions = { ...parent?.versions };
    const changed = {};
    for (const channel of ["a", "b", "list"]) {
      if (random(3) === 0) continue;
      values[channel] = channel === "list" ? `${values.list ?? "x".repeat(5000)}${step}` : random(1000);
      if (random(12) === 0) delete values[channel];
      versions[channel] = changed[channel] = step + 1;
    }
    const source = ["loop", "loop", "input", "update", "fork"][random(5)];
    const c = { ...emptyCheckpoint(), ts: new Date(1e12 + step).toISOString(), id, channel_values: values, channel_versions: versions };
    for (const saver of savers) await saver.put(parent?.config ?? at(thread, ns), c, { source, step, parents: {} }, changed);
    known.push({ thread, ns, values, versions, config: { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } } });
  }
  const all = async (saver) => {
    const out = [];
    for await (const tuple of saver.list({})) out.push(tuple);
    return out;
  };
  const [one, two] = [await all(savers[0]), await all(savers[1])];
  expect(one.length).toBeGreaterThan(50);
  expect(one).toEqual(two);
  for (const saver of savers) await saver.close();
  const frames = dirs.map((dir) => ["t0", "t1", "t2"].map((t) => documents(dir, "timeline", t, "--all")[0].timeline.frames.map(({ frameNo, subject }) => [frameNo, subject])));
  expect(frames[0]).toEqual(frames[1]);
  for (const dir of dirs) drop(dir);
});
