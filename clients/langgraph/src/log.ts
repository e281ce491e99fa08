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

  /** Appends a call. Returns false if the log did not take it. */
  append(message: Uint8Array[]): boolean {
    const size = message.reduce((sum, part) => sum + part.length, 0);
    if (size > MOST || this.full) return false;
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
    return true;
  }

  /** Puts the log on stable storage. */
  sync(): Promise<void> {
    return new Promise((resolve, reject) => fs.fdatasync(this.fd, (error) => (error ? reject(error) : resolve())));
  }

  close(): void {
    fs.closeSync(this.fd);
  }

  /** Removes the log. All its calls must have been done. */
  remove(): void {
    this.close();
    fs.rmSync(this.place.path, { force: true });
  }
}
