import { type ChildProcess, spawn } from "node:child_process";

import { locate } from "./binary.js";
import { CallLog, type LogPlace } from "./log.js";

/** The version of the protocol that this package speaks. */
export const PROTOCOL = 1;

/** The number of crashes of the server in a row after which calls are rejected. */
const CRASHES = 3;

/** The numbers of calls and bytes in the log at which the server is asked to do them, and the time after which it is asked at the latest. */
const BATCH = 64;
const BATCH_BYTES = 4 << 20;
const SOON = 125;

/** The numbers of calls and bytes in the log at which a call waits until earlier ones are done. */
const MOST = 1000;
const MOST_BYTES = 64 << 20;

/** The exit status of a git-smithers that does not know a command or an option. */
const USAGE = 4;

/** An error that git-smithers reports, with its stable code and what one can do. */
export class GitSmithersError extends Error {
  override readonly name = "GitSmithersError";

  constructor(
    readonly code: string,
    message: string,
    readonly hints: string[] = [],
  ) {
    super(hints.length > 0 ? `${message} (${hints.join("; ")})` : message);
  }
}

/** The answer to a call: its result, and the blobs to which the result refers by their numbers. */
export interface Answer<R> {
  result: R;
  blobs: Uint8Array[];
  repeated: boolean; // a server that ended before its answer may have done all of it
}

/** How a server is started. */
export interface ServerOptions {
  binary: string;
  repository: string;
  durability: string;
  version: string;
  env?: NodeJS.ProcessEnv;
  changed(thread?: string): void; // a thread, or any, has changed in the repository: what is known of it does not count
}

interface Call {
  id: number;
  method: string;
  message: Buffer[];
  repeated: boolean;
  resolve(answer: Answer<never>): void;
  reject(error: Error): void;
}

/**
 * Calls a child process `git smithers serve`. The child is started by the first call, and keeps Node alive only while calls
 * are under way. After a crash, the client starts another child and sends again what was not answered: every call can be
 * repeated.
 */
export class Client {
  private child: ChildProcess | undefined;
  private readonly calls = new Map<number, Call>();
  private nextId = 1;
  private crashes = 0;
  private greeted = false; // the child has said that it speaks this protocol
  private talk = "";
  private closing = false;
  private closed = false;
  private ended: Promise<void> = Promise.resolve();
  private log: CallLog | undefined;
  private waiting = { calls: 0, bytes: 0 }; // in the log
  private publishing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private failed = false; // the calls in the log could not be done: the next call says why

  constructor(private readonly options: ServerOptions) {}

  call<R>(method: string, params: object, blobs: Uint8Array[] = []): Promise<Answer<R>> {
    if (this.closed || (this.closing && method !== "publish")) return Promise.reject(new GitSmithersError("closed", "the saver is closed"));
    return new Promise<Answer<R>>((resolve, reject) => {
      const id = this.nextId++;
      const call: Call = { id, method, message: encode(id, method, params, blobs), repeated: false, resolve: resolve as Call["resolve"], reject };
      this.calls.set(id, call);
      if (this.child === undefined) this.start();
      else this.send(call);
    });
  }

  /** The name of the log that takes calls now; "" if there is none. */
  get logName(): string {
    return this.log === undefined || this.failed || this.closing || this.log.full ? "" : this.log.place.name;
  }

  /**
   * Notes a call that needs no answer in the log, and returns a promise that resolves when the call has outlived this process or, if the
   * saver is durable, is on stable storage. Returns undefined if the log does not take the call.
   */
  note(method: string, params: object, blobs: Uint8Array[]): Promise<void> | undefined {
    const log = this.log;
    if (log?.full && !this.failed && !this.closing) this.publish(); // which asks for another log
    if (log === undefined || this.logName === "") return undefined;
    const line = lineOf(Date.now(), method, params, blobs);
    const message = [Buffer.from(line), ...blobs];
    if (loneSurrogate.test(line) || !log.append(message)) return undefined;
    this.waiting.calls++;
    for (const part of message) this.waiting.bytes += part.length;
    if (this.waiting.calls >= BATCH || this.waiting.bytes >= BATCH_BYTES) this.publish();
    else this.timer ??= setTimeout(() => this.publish(), SOON).unref();
    const room = this.waiting.calls < MOST && this.waiting.bytes < MOST_BYTES ? undefined : this.publishing;
    if (this.options.durability !== "durable") return room ?? Promise.resolve();
    return Promise.all([room, log.sync()]).then(() => {});
  }

  /** Asks the server to do the calls in the log, and for another log if this one is full. One request is under way at a time. */
  private publish(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.publishing !== undefined) return this.publishing;
    const { log } = this;
    const asked = { ...this.waiting, size: log?.size ?? 0 };
    const anew = log?.full === true; // it takes no call until the server has answered
    if (anew) log.finish();
    const answer = this.call<{ done: number; late: string[]; log?: LogPlace | null }>("publish", { anew });
    this.publishing = answer.then(
      ({ result }) => {
        for (const thread of result.late) this.options.changed(thread);
        if (this.log !== log) return;
        if (log !== undefined && result.done < asked.size && !anew) this.damaged(log);
        else if (anew) this.log = CallLog.open(result.log);
      },
      () => {
        this.failed = true;
      },
    ).then(() => {
      this.publishing = undefined;
      this.waiting = { calls: this.waiting.calls - asked.calls, bytes: this.waiting.bytes - asked.bytes };
      if (this.closing) return;
      if (this.waiting.calls >= BATCH) this.publish();
      else if (this.waiting.calls > 0) this.timer ??= setTimeout(() => this.publish(), SOON).unref();
    });
    return this.publishing;
  }

  /** Says that calls in a log were acknowledged and are gone: something else has written to the log, or removed it. */
  private damaged(log: CallLog): void {
    this.log = undefined;
    log.finish();
    this.options.changed();
    process.emitWarning(`calls that were acknowledged are not whole in ${log.place.path}: something else has changed or removed the file`, "GitSmithersWarning");
  }

  /** Waits for the calls under way and ends the child. A second call waits, too. */
  async close(): Promise<void> {
    this.closing = true;
    clearTimeout(this.timer);
    await this.publishing;
    const { log } = this;
    let failed: Error | undefined;
    if (log !== undefined) {
      log.finish();
      await this.call("publish", {}).catch((error: Error) => (failed = error));
      this.log = undefined;
    }
    this.closed = true;
    if (this.child !== undefined) hold(this.child);
    this.child?.stdin?.end();
    await this.ended;
    if (failed !== undefined) throw failed; // what could not be done stays in the log
  }

  /** The process id of the child, for tests. */
  get pid(): number | undefined {
    return this.child?.pid;
  }

  private start(): void {
    const { binary, repository, durability } = this.options;
    const child = spawn(binary, ["serve", "--stdio", "--durability", durability], {
      cwd: repository,
      env: this.options.env ?? process.env,
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32", // Ctrl-C at a terminal is for the program, which may still have to store
      windowsHide: true,
    });
    this.child = child;
    this.talk = "";
    this.greeted = false;
    const reader = new Reader((header, blobs) => this.take(child, header, blobs));
    child.stdout!.on("data", (chunk: Buffer) => {
      try {
        if (child === this.child) reader.add(chunk);
      } catch (error) {
        this.abandon(child, error as Error);
      }
    });
    child.stderr!.on("data", (chunk: Buffer) => {
      this.talk = (this.talk + chunk.toString()).slice(-4096);
      if (!this.talk.includes("git-smithers: error:")) process.stderr.write(chunk);
    });
    child.stdin!.on("error", () => {}); // the end of the child says it, too
    this.ended = new Promise((resolve) => {
      let failed: Error | undefined;
      child.on("error", (error) => {
        failed = error;
        if (child.pid === undefined) this.end(child, undefined, failed, resolve);
      });
      child.on("close", (status) => this.end(child, status, failed, resolve));
    });
    const hello = encode(0, "hello", {
      protocol: PROTOCOL,
      client: { name: "@git-smithers/langgraph", version: this.options.version },
      durability,
      log: this.log?.place.name ?? "",
    });
    for (const part of hello) child.stdin!.write(part);
    for (const call of this.calls.values()) this.send(call);
  }

  private send(call: Call): void {
    const { child } = this;
    if (child === undefined) return;
    hold(child);
    child.stdin!.cork();
    for (const part of call.message) child.stdin!.write(part);
    child.stdin!.uncork();
  }

  private take(child: ChildProcess, header: Header, blobs: Uint8Array[]): void {
    if (child !== this.child) return;
    if (!this.greeted) {
      const { protocol, log } = (header.result ?? {}) as { protocol?: unknown; log?: LogPlace | null };
      if (protocol !== PROTOCOL) throw new Error(header.error?.message ?? "it does not answer as git-smithers does");
      this.greeted = true;
      if (this.log !== undefined && this.log.place.name !== log?.name) {
        if (this.waiting.calls > 0) this.damaged(this.log);
        this.log?.finish();
        this.log = undefined;
      }
      this.log ??= this.closing ? undefined : CallLog.open(log);
      return;
    }
    const call = header.id === null ? undefined : this.calls.get(header.id);
    if (call === undefined) {
      if (header.error) this.rejectAll(errorOf(header.error));
      return;
    }
    this.crashes = 0;
    this.calls.delete(call.id);
    if (!header.error) this.failed = false;
    else this.options.changed(); // a call in the log may be what failed
    if (header.error) call.reject(errorOf(header.error));
    else call.resolve({ result: header.result as never, blobs, repeated: call.repeated });
    if (this.calls.size === 0 && !this.closed) release(child);
  }

  /** Rejects the calls and ends a child that does not speak the protocol. The next call starts another. */
  private abandon(child: ChildProcess, why: Error): void {
    this.rejectAll(this.unfit(why.message));
    this.child = undefined;
    child.kill();
  }

  /** Returns the error about a binary that this package cannot use. */
  private unfit(why: string): GitSmithersError {
    const { binary, env, version } = this.options;
    return new GitSmithersError("server_failed", `${locate(binary, env)}: ${why}`, [
      `this package needs git-smithers ${version} with protocol ${PROTOCOL}; the option binary or the variable GIT_SMITHERS says where it is`,
    ]);
  }

  private end(child: ChildProcess, status: number | null | undefined, failed: Error | undefined, done: () => void): void {
    if (child === this.child) {
      this.child = undefined;
      if (this.calls.size > 0) this.recover(status, failed);
    }
    done();
  }

  /** Starts another child for the calls that were not answered, or rejects them. */
  private recover(status: number | null | undefined, failed: Error | undefined): void {
    if (failed !== undefined) {
      const missing = (failed as NodeJS.ErrnoException).code === "ENOENT";
      this.rejectAll(
        new GitSmithersError("not_started", `cannot start ${this.options.binary} in ${this.options.repository}: ${failed.message}`, [
          missing ? "install git-smithers, or say where it is with the option binary or the variable GIT_SMITHERS; check that the folder exists" : "check the binary",
        ]),
      );
      return;
    }
    const told = errorIn(this.talk);
    if (told !== undefined) {
      this.rejectAll(status === USAGE && !this.greeted ? this.unfit(told.message) : told);
      return;
    }
    if (++this.crashes >= CRASHES || this.closed) {
      this.rejectAll(this.unfit(`it ended ${this.crashes} times in a row (status ${status}): ${this.talk.trim()}`));
      this.crashes = 0;
      return;
    }
    for (const call of this.calls.values()) call.repeated = true;
    this.start();
  }

  private rejectAll(error: Error): void {
    const calls = [...this.calls.values()];
    this.calls.clear();
    if (this.child !== undefined) release(this.child);
    for (const call of calls) call.reject(error);
  }
}

/** Lets the child keep Node alive, or not. The pipes do so, too. */
function hold(child: ChildProcess): void {
  child.ref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as unknown as { ref?(): void } | null)?.ref?.();
}

function release(child: ChildProcess): void {
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) (pipe as unknown as { unref?(): void } | null)?.unref?.();
}

/** Half of a surrogate pair, as JSON.stringify writes it. The server decides what becomes of it. */
const loneSurrogate = /\\ud[89a-f]/;

function lineOf(id: number, method: string, params: object, blobs: Uint8Array[]): string {
  return `${JSON.stringify({ id, method, params, blobs: blobs.map((blob) => blob.length) })}\n`;
}

function encode(id: number, method: string, params: object, blobs: Uint8Array[] = []): Buffer[] {
  return [Buffer.from(lineOf(id, method, params, blobs)), ...blobs.map((blob) => Buffer.from(blob.buffer, blob.byteOffset, blob.length))];
}

interface Failure {
  code: string;
  message: string;
  hints: string[];
}

interface Header {
  id: number | null;
  result?: unknown;
  error?: Failure;
  blobs: number[];
}

function errorOf(failure: Failure): GitSmithersError {
  return new GitSmithersError(failure.code, failure.message, failure.hints);
}

/** Returns the error that the child wrote for people before it ended, or undefined. */
function errorIn(talk: string): GitSmithersError | undefined {
  const message = /^git-smithers: error: (.*)$/m.exec(talk)?.[1];
  if (message === undefined) return undefined;
  const hints = [...talk.matchAll(/^git-smithers: hint: (.*)$/gm)].map((match) => match[1]!);
  return new GitSmithersError("server_failed", message, hints);
}

/** Returns the header in a line of output. */
function headerOf(line: string): Header {
  try {
    const header = JSON.parse(line) as Header;
    if (header.blobs.every((n) => Number.isSafeInteger(n) && n >= 0)) return header;
  } catch {
    // another program's words
  }
  throw new Error(`it printed a line that is no answer: ${JSON.stringify(line.slice(0, 200))}`);
}

/** Splits a stream into messages: a line of JSON, and the blobs that it announces. */
export class Reader {
  private chunks: Buffer[] = [];
  private size = 0;
  private header: Header | undefined;
  private body = 0;

  constructor(private readonly take: (header: Header, blobs: Uint8Array[]) => void) {}

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.size += chunk.length;
    for (;;) {
      if (this.header === undefined) {
        const last = this.chunks[this.chunks.length - 1];
        if (last === undefined || !this.chunks.some((part) => part.includes(10))) return;
        const all = this.joined();
        const end = all.indexOf(10);
        this.header = headerOf(all.toString("utf8", 0, end));
        this.body = this.header.blobs.reduce((sum, n) => sum + n, 0);
        this.keep(all.subarray(end + 1));
      }
      if (this.size < this.body) return;
      const all = this.joined();
      let at = 0;
      const blobs = this.header.blobs.map((n) => new Uint8Array(all.buffer, all.byteOffset + at, ((at += n), n)));
      const header = this.header;
      this.header = undefined;
      this.keep(all.subarray(at));
      this.take(header, blobs);
    }
  }

  private joined(): Buffer {
    const all = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
    this.chunks = [all];
    return all;
  }

  private keep(rest: Buffer): void {
    this.chunks = rest.length > 0 ? [rest] : [];
    this.size = rest.length;
  }
}
