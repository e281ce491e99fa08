import * as fs from "node:fs";
import * as zlib from "node:zlib";

/** The largest call in bytes that a log takes. */
const MOST = 4 << 20;

/** The size in bytes from which the client asks for another log. */
const FULL = 16 << 20;

/** How long in milliseconds a log may be idle. After a day, others remove it. */
const IDLE = 600_000;

// Node has it from 20.15 on.
const crc32 = (zlib as unknown as { crc32?: (data: Uint8Array, value?: number) => number }).crc32;

/** Where the server has made a log. */
export interface LogPlace {
  name: string;
  path: string;
  salt: number;
}

/** The logs of this process that have no end yet. They get one when it ends: then others remove them once their calls are done. */
const open = new Set<CallLog>();

function endAll(): void {
  for (const log of open) log.finish();
}

/** A file to which the client appends calls that need no answer. The server does them a moment later. */
export class CallLog {
  private end: number;
  private sum: number;
  private used = Date.now();
  private broken = false;

  private constructor(
    readonly place: LogPlace,
    private readonly fd: number,
  ) {
    this.sum = place.salt;
    this.end = fs.fstatSync(fd).size;
    if (open.size === 0) process.on("exit", endAll);
    open.add(this);
  }

  /** Opens the log that the server has made. Returns undefined where this process cannot write it. */
  static open(place: LogPlace | null | undefined): CallLog | undefined {
    if (!place || crc32 === undefined) return undefined;
    try {
      return new CallLog(place, fs.openSync(place.path, fs.constants.O_WRONLY | fs.constants.O_APPEND));
    } catch {
      return undefined; // as in a container that has the repository elsewhere
    }
  }

  /** Reports whether another log is wanted. */
  get full(): boolean {
    return this.broken || this.end >= FULL || Date.now() - this.used > IDLE;
  }

  /** The number of bytes that the log has. */
  get size(): number {
    return this.end;
  }

  /** Appends a call. Returns false if the log did not take it. */
  append(message: Uint8Array[]): boolean {
    return !this.full && this.write(message);
  }

  /** Appends the end, after which nothing is appended, and closes the file. A second call does nothing. */
  finish(): void {
    if (!open.delete(this)) return;
    if (open.size === 0) process.off("exit", endAll);
    this.write([Buffer.from(`{"id":${Date.now()},"method":"end","params":{}}\n`)]);
    try {
      fs.closeSync(this.fd);
    } catch {
      // the error is about earlier writes, and the server reads what there is
    }
  }

  private write(message: Uint8Array[]): boolean {
    const size = message.reduce((sum, part) => sum + part.length, 0);
    if (size > MOST || this.broken) return false;
    const head = Buffer.allocUnsafe(8);
    head.writeUInt32LE(size, 0);
    let sum = crc32!(head.subarray(0, 4), this.sum);
    for (const part of message) sum = crc32!(part, sum);
    head.writeUInt32LE(sum, 4);
    try {
      if (fs.writevSync(this.fd, [head, ...message]) !== size + 8) throw new Error("the disk is full");
    } catch {
      this.broken = true;
      try {
        fs.ftruncateSync(this.fd, this.end);
      } catch {
        // what was written of the call does not count: its end or its checksum is missing
      }
      return false;
    }
    this.sum = sum;
    this.end += size + 8;
    this.used = Date.now();
    this.broken = !this.exists(); // nobody does the calls of a file that was removed
    return !this.broken;
  }

  private exists(): boolean {
    try {
      return fs.fstatSync(this.fd).nlink > 0;
    } catch {
      return false;
    }
  }

  /** Puts the log on stable storage. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => fs.fdatasync(this.fd, (error) => (error ? reject(error) : resolve())));
  }
}
