import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
  maxChannelVersion,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";

import { findBinary } from "./binary.js";
import { LastPuts } from "./last.js";
import { SentValues } from "./prefix.js";
import { type Answer, Client, GitSmithersError } from "./rpc.js";
import { VERSION } from "./version.js";

/** The channel of tasks that a node sends. */
const TASKS = "__pregel_tasks";

/** What LangGraph's serializer writes in place of a value that has no JSON, such as a BigInt. */
const LOST = "[unable to serialize, circular reference is too complex to analyze]";

/** How a saver keeps its threads. */
export interface GitSmithersOptions {
  /** A folder in the repository; the current folder by default. */
  repository?: string;
  /** The git-smithers binary; see the README for where it is looked for. */
  binary?: string;
  /** "process" (default): a write outlives this process. "durable": it is on stable storage before the promise resolves. */
  durability?: "process" | "durable";
  /** Which frames get the files of the working copy: none (default), all checkpoints, or those at which a task is interrupted. */
  files?: "off" | "checkpoint" | "interrupt";
  /** Makes bytes of values. A serializer that encrypts keeps values from being shared and read. */
  serde?: SerializerProtocol;
  /** The environment of the git-smithers process; that of this process by default. */
  env?: NodeJS.ProcessEnv;
}

/** How far an import is. */
export interface Progress {
  thread: string;
  checkpoints: number;
  threads: number;
}

interface Value {
  channel: string;
  type: string;
  blob: number;
}

interface Written extends Value {
  task: string;
  idx: number;
}

interface Tuple {
  thread: string;
  ns: string;
  id: string;
  parent?: string;
  checkpoint: Omit<Checkpoint, "channel_values">;
  metadata: CheckpointMetadata;
  commit: string;
  values: Value[];
  writes: Written[];
  sends?: Written[];
}

type Stored = { frame: number; commit: string } | { dropped: true } | { need: string[]; full: string[] };

interface History {
  channel: string;
  seed?: Value;
  writes: Written[];
}

type DeltaHistory = Awaited<ReturnType<BaseCheckpointSaver["getDeltaChannelHistory"]>>;

/** Keeps LangGraph threads as runs of a git repository, through one `git smithers serve` process. */
export class GitSmithersSaver extends BaseCheckpointSaver {
  private readonly client: Client;
  private readonly files: NonNullable<GitSmithersOptions["files"]>;
  private readonly sent = new SentValues();
  private readonly last = new LastPuts();

  constructor(options: GitSmithersOptions = {}) {
    super(options.serde);
    this.files = options.files ?? "off";
    this.client = new Client({
      binary: findBinary(options.binary, options.env),
      repository: options.repository ?? process.cwd(),
      durability: options.durability ?? "process",
      version: VERSION,
      ...(options.env === undefined ? {} : { env: options.env }),
      changed: (thread) => (thread === undefined ? this.forget() : this.last.forget(thread)),
    });
  }

  /** Returns a saver for a repository. It starts git-smithers at the first call. */
  static open(options: GitSmithersOptions = {}): GitSmithersSaver {
    return new GitSmithersSaver(options);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const { thread, ns, id } = place(config);
    if (thread === undefined) return undefined;
    const answer = await this.client.call<{ tuple: Tuple | null }>("getTuple", { thread, ns, id: id ?? "" });
    return answer.result.tuple === null ? undefined : new Page(this.serde, answer.blobs).tuple(answer.result.tuple);
  }

  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const given = config.configurable ?? {};
    const query = {
      thread: given.thread_id === undefined ? undefined : text("thread_id", given.thread_id),
      ns: given.checkpoint_ns === undefined ? undefined : text("checkpoint_ns", given.checkpoint_ns),
      id: given.checkpoint_id === undefined ? undefined : text("checkpoint_id", given.checkpoint_id),
      before: options.before?.configurable?.checkpoint_id as string | undefined,
      filter: options.filter,
    };
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    let after: unknown;
    while (left > 0) {
      const limit = Number.isFinite(left) ? Math.floor(left) : undefined;
      const answer: Answer<{ tuples: Tuple[]; next: unknown }> = await this.client.call("list", { ...query, limit, after });
      const page = new Page(this.serde, answer.blobs);
      for (const tuple of answer.result.tuples) yield await page.tuple(tuple);
      left -= answer.result.tuples.length;
      after = answer.result.next;
      if (after === null || after === undefined) return;
    }
  }

  override put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    return this.store(config, checkpoint, metadata, newVersions, false);
  }

  /** Stores a checkpoint. The parent of an orphan may be missing. */
  private async store(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
    orphan: boolean,
  ): Promise<RunnableConfig> {
    const { thread, ns, id: parent } = place(config);
    if (thread === undefined) throw new GitSmithersError("invalid_input", 'put needs a "thread_id" in config.configurable');
    const { channel_values: values, ...rest } = checkpoint;
    const present = Object.keys(values ?? {});
    for (const channel of present) text("the name of a channel", channel);
    const given = { thread, ns, id: text("the checkpoint's id", checkpoint.id), parent, orphan: orphan || undefined, checkpoint: rest, metadata, present, files: this.files === "checkpoint" };
    // Before LangGraph.js 1.4.21, an update beside an unfinished task applies what finished tasks wrote without a new version.
    const all = metadata?.source === "update";
    const send = new Set(present.filter((channel) => all || channel === TASKS || Object.hasOwn(newVersions, channel)));
    const unknown = new Set<string>(); // the server does not know their earlier values
    for (;;) {
      const values: { channel: string; type: string; data: Uint8Array }[] = [];
      for (const channel of send) {
        const [type, data] = await this.dump(channel, checkpoint.channel_values[channel]);
        values.push({ channel, type, data });
      }
      // From here to the call, nothing is awaited: the log has the calls in the order in which they were begun.
      const begins = (log: string) => {
        const bases = values.map(({ channel, type, data }) => (unknown.has(channel) ? undefined : this.sent.base(keyOf(thread, ns, channel), type, data, log)));
        const sent = values.map(({ channel, type }, i) => ({ channel, type, base: bases[i] }));
        return { params: { ...given, sent }, blobs: values.map(({ data }, i) => (bases[i] === undefined ? data : data.subarray(bases[i].length))) };
      };
      const known = (at: string) => {
        for (const { channel, type, data } of values) this.sent.set(keyOf(thread, ns, channel), at, type, data);
        this.last.set(thread, ns, checkpoint);
      };
      const config = { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
      const log = this.client.logName;
      if (log !== "" && !given.files && !orphan && isObject(metadata) && this.last.leadsTo(thread, ns, parent, checkpoint, send)) {
        const { params, blobs } = begins(log);
        const noted = this.client.note("put", params, blobs);
        if (noted !== undefined) {
          known(log);
          await noted;
          return config;
        }
      }
      const { params, blobs } = begins("");
      const { result } = await this.last.during(thread, this.client.call<Stored>("put", params, blobs));
      if ("need" in result) {
        for (const channel of result.need) send.add(channel);
        for (const channel of result.full) unknown.add(channel);
        continue;
      }
      if ("commit" in result) known(result.commit);
      return config;
    }
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, path?: string): Promise<void> {
    const { thread, ns, id } = place(config);
    if (thread === undefined) throw new GitSmithersError("invalid_input", 'putWrites needs a "thread_id" in config.configurable');
    if (id === undefined) throw new GitSmithersError("invalid_input", 'putWrites needs a "checkpoint_id" in config.configurable');
    const interrupted = writes.some(([channel]) => channel === "__interrupt__");
    await this.write({ thread, ns, id, task: taskId, path, files: this.files === "interrupt" && interrupted }, [...writes.entries()]);
  }

  /** Stores writes of a task, each with its position. */
  private async write(given: { thread: string; ns: string; id: string; task: string; path: string | undefined; files: boolean }, writes: [number, PendingWrite][]): Promise<void> {
    const blobs: Uint8Array[] = [];
    const sent = [];
    for (const [position, [channel, value]] of writes) {
      const [type, data] = await this.dump(channel, value);
      const idx = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel]! : position;
      sent.push({ idx, channel: text("the name of a channel", channel), type });
      blobs.push(data);
    }
    const params = { ...given, task: text("the task's id", given.task), writes: sent };
    // An interrupt, an error and an answer have a place below 0: people look for them at once.
    const plain = !given.files && given.id !== "" && sent.every(({ idx }) => idx >= 0) && this.last.has(given.thread, [given.task, given.path, ...sent.map(({ channel }) => channel)]);
    await ((plain ? this.client.note("putWrites", params, blobs) : undefined) ?? this.last.during(given.thread, this.client.call("putWrites", params, blobs)));
  }

  /** Makes bytes of a channel's value, and refuses a value that would not come back. An error is stored as far as it can be. */
  private async dump(channel: string, value: unknown): Promise<[string, Uint8Array]> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    const data = bytesOf(bytes);
    const lost = data.length === 0 || (data.length === LOST.length + 2 && value !== LOST && Buffer.from(data).toString() === JSON.stringify(LOST));
    if (type === "json" && lost && channel !== "__error__") {
      throw new GitSmithersError("invalid_input", `the channel ${JSON.stringify(channel)} has a value that LangGraph's serializer cannot write, such as a BigInt or a function`, [
        "return a text or a number in its place",
      ]);
    }
    return [type, data];
  }

  override async getDeltaChannelHistory(options: { config: RunnableConfig; channels: string[] }): Promise<DeltaHistory> {
    const { thread, ns, id } = place(options.config);
    if (thread === undefined || options.channels.length === 0) {
      return Object.fromEntries(options.channels.map((channel) => [channel, { writes: [] }]));
    }
    const params = { thread, ns, id: id ?? "", channels: options.channels };
    const answer = await this.client.call<{ channels: History[] }>("deltaHistory", params);
    const page = new Page(this.serde, answer.blobs);
    const out = own<DeltaHistory[string]>();
    for (const history of answer.result.channels) {
      const writes = await page.writes(history.writes);
      define(out, history.channel, history.seed === undefined ? { writes } : { writes, seed: await page.load(history.seed) });
    }
    return out;
  }

  override async deleteThread(threadId: string): Promise<void> {
    this.forget();
    await this.client.call("deleteThread", { thread: text("thread_id", threadId) });
    this.forget();
  }

  /** Makes the thread `to` a fork of `from`, up to a checkpoint of its graph or its newest one. Nothing is copied but a ref. */
  async copyThread(from: string, to: string, checkpointId?: string): Promise<void> {
    await this.client.call("copyThread", { from: text("thread_id", from), to: text("thread_id", to), id: checkpointId ?? "" });
  }

  /**
   * Drops the checkpoints of threads. "keep_latest" (default) keeps the latest one of each namespace, with the ancestors that
   * DeltaChannels need. "delete" deletes the threads. What is dropped is held until `git smithers prune --collect`.
   */
  async prune(threadIds: string[], options: { strategy?: "keep_latest" | "delete" } = {}): Promise<void> {
    const threads = threadIds.map((id) => text("thread_id", id));
    this.forget();
    await this.client.call("prune", { threads, strategy: options.strategy ?? "keep_latest" });
    this.forget();
  }

  /**
   * Drops the checkpoints whose metadata have one of the run ids, from all threads, and returns their number. LangGraph.js stores no
   * run id in the metadata; a warning says when nothing matched. If git-smithers ends before it answers, the call is repeated: the number
   * is then of what was left, and 0 is no cause for a warning.
   */
  async deleteForRuns(runIds: string[]): Promise<number> {
    this.forget();
    const { result, repeated } = await this.client.call<{ checkpoints: number }>("deleteForRuns", { runs: runIds });
    this.forget();
    if (result.checkpoints === 0 && !repeated) process.emitWarning("deleteForRuns deleted nothing: no checkpoint has one of the run ids as run_id in its metadata", "GitSmithersWarning");
    return result.checkpoints;
  }

  /** Forgets what the threads have: it was dropped. */
  private forget(): void {
    this.sent.clear();
    this.last.clear();
  }

  /** Resolves when everything that was asked for before is answered. */
  async flush(): Promise<void> {
    await this.client.call("flush", {});
  }

  /** Waits for the calls under way and ends git-smithers. A saver that is lost without close loses nothing. */
  async close(): Promise<void> {
    await this.client.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /**
   * Copies all checkpoints and writes of another saver, or those of some threads, into this repository. Threads that are here
   * already get what they lack. Returns the number of checkpoints.
   */
  async importThreads(from: BaseCheckpointSaver, options: { threads?: string[]; onProgress?: (progress: Progress) => void } = {}): Promise<number> {
    const configs = options.threads?.map((thread_id) => ({ configurable: { thread_id } })) ?? [{}];
    let checkpoints = 0;
    const threads = new Set<string>();
    for (const config of configs) {
      const found: RunnableConfig[] = [];
      for await (const { config: at } of from.list(config)) found.push(at);
      found.sort((a, b) => compare(`${a.configurable?.checkpoint_id}`, `${b.configurable?.checkpoint_id}`)); // parents are older
      for (const at of found) {
        const tuple = await from.getTuple(at);
        if (tuple === undefined) continue;
        await this.take(tuple);
        const thread = `${at.configurable?.thread_id}`;
        threads.add(thread);
        checkpoints++;
        options.onProgress?.({ thread, checkpoints, threads: threads.size });
      }
    }
    return checkpoints;
  }

  /** Stores a tuple of another saver. */
  private async take({ config, checkpoint, metadata, parentConfig, pendingWrites }: CheckpointTuple): Promise<void> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const parent = parentConfig?.configurable?.checkpoint_id;
    const at = { configurable: { thread_id, checkpoint_ns, ...(parent === undefined ? {} : { checkpoint_id: parent }) } };
    await this.store(at, checkpoint, metadata ?? ({} as CheckpointMetadata), checkpoint.channel_versions, true);
    // A tuple has no paths of tasks, and its order follows from them. If the tasks' ids alone do not give that order, places stand for paths.
    const calls: { task: string; writes: [number, PendingWrite][] }[] = [];
    const counts = new Map<string, number>();
    for (const [task, channel, value] of pendingWrites ?? []) {
      const position = counts.get(task) ?? 0;
      counts.set(task, position + 1);
      if (calls.at(-1)?.task !== task) calls.push({ task, writes: [] });
      calls.at(-1)!.writes.push([position, [channel, value]]);
    }
    const ordered = calls.every(({ task }, i) => i === 0 || Buffer.compare(Buffer.from(calls[i - 1]!.task), Buffer.from(task)) < 0);
    for (const [place, { task, writes }] of calls.entries()) {
      const path = ordered ? undefined : `${place}`.padStart(8, "0");
      await this.write({ thread: thread_id, ns: checkpoint_ns ?? "", id: checkpoint_id, task, path, files: false }, writes);
    }
  }
}

/** Turns the tuples of one answer into those of LangGraph. Equal values are one blob, and each tuple gets a value of its own. */
class Page {
  constructor(
    private readonly serde: SerializerProtocol,
    private readonly blobs: Uint8Array[],
  ) {}

  load(value: { type: string; blob: number }): Promise<unknown> {
    return this.serde.loadsTyped(value.type, this.blobs[value.blob]!) as Promise<unknown>;
  }

  writes(all: Written[]): Promise<CheckpointPendingWrite[]> {
    return Promise.all(all.map(async (w): Promise<CheckpointPendingWrite> => [w.task, w.channel, await this.load(w)]));
  }

  async tuple(t: Tuple): Promise<CheckpointTuple> {
    const values = own<unknown>();
    for (const value of t.values) define(values, value.channel, await this.load(value));
    const checkpoint = { ...t.checkpoint, channel_values: values } as Checkpoint;
    if (checkpoint.v < 4 && t.parent !== undefined) await this.migrate(checkpoint, t.sends ?? []);
    const out: CheckpointTuple = {
      config: configOf(t, t.id),
      checkpoint,
      metadata: t.metadata,
      pendingWrites: await this.writes(t.writes),
    };
    if (t.parent !== undefined) out.parentConfig = configOf(t, t.parent);
    return out;
  }

  /** Before version 4, the tasks that a node sent were in the writes of the parent alone. */
  private async migrate(checkpoint: Checkpoint, sends: Written[]): Promise<void> {
    checkpoint.channel_values[TASKS] = (await this.writes(sends)).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions ?? {});
    checkpoint.channel_versions = {
      ...checkpoint.channel_versions,
      [TASKS]: versions.length > 0 ? maxChannelVersion(...versions) : 1,
    };
  }
}

function configOf(t: Tuple, id: string): RunnableConfig {
  return { configurable: { thread_id: t.thread, checkpoint_ns: t.ns, checkpoint_id: id } };
}

/** Returns what a config says. The thread is undefined if it names none. */
function place(config: RunnableConfig): { thread: string | undefined; ns: string; id: string | undefined } {
  const given = config.configurable ?? {};
  return {
    thread: given.thread_id === undefined || given.thread_id === null ? undefined : text("thread_id", given.thread_id),
    ns: given.checkpoint_ns === undefined || given.checkpoint_ns === null ? "" : text("checkpoint_ns", given.checkpoint_ns),
    id: given.checkpoint_id ? text("checkpoint_id", given.checkpoint_id) : undefined,
  };
}

/** Returns a name as a text. Half of a surrogate pair has no UTF-8, so a name with one could not come back. */
function text(what: string, value: unknown): string {
  const out = String(value);
  if (out !== out.toWellFormed()) throw new GitSmithersError("invalid_input", `${what} has half of a surrogate pair`);
  return out;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !("toJSON" in value);
}

function bytesOf(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === "string" ? Buffer.from(bytes) : bytes;
}

function keyOf(thread: string, ns: string, channel: string): string {
  return JSON.stringify([thread, ns, channel]);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns an object for names of any kind, such as "__proto__". */
function own<T>(): Record<string, T> {
  return {};
}

function define<T>(object: Record<string, T>, name: string, value: T): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
}
