/** The size in bytes from which the saver remembers a value, to send only what follows the same beginning the next time. */
export const LARGE = 4096;

/** The least length of a commit's id. The name of a log is shorter. */
const COMMIT = 40;

/** What the server has of a channel: the bytes of its value in the frame with a commit, or the newest value in a log. */
interface Known {
  at: string; // the commit, or the name of the log
  type: string;
  data: Uint8Array;
}

/** Remembers the values that were sent last, up to a number of bytes. */
export class SentValues {
  private readonly known = new Map<string, Known>();
  private size = 0;

  constructor(private readonly most = 64 << 20) {}

  /**
   * Returns where the value begins like the one sent before, or undefined if that saves nothing. The value goes to the log with the name,
   * which knows only what it has, or to the server if the name is "".
   */
  base(key: string, type: string, data: Uint8Array, log: string): { commit?: string; length: number } | undefined {
    const before = this.known.get(key);
    if (before === undefined || before.type !== type || (log === "" ? before.at.length < COMMIT : before.at !== log)) return undefined;
    const length = commonPrefix(before.data, data);
    if (length < LARGE) return undefined;
    return log === "" ? { commit: before.at, length } : { length };
  }

  /** Remembers a value that is now in the frame with a commit, or in the log with a name. */
  set(key: string, at: string, type: string, data: Uint8Array): void {
    this.drop(key);
    if (data.length < LARGE) return;
    this.known.set(key, { at, type, data });
    this.size += data.length;
    for (const oldest of this.known.keys()) {
      if (this.size <= this.most) break;
      this.drop(oldest);
    }
  }

  /** Forgets a value. */
  drop(key: string): void {
    const had = this.known.get(key);
    if (had === undefined) return;
    this.size -= had.data.length;
    this.known.delete(key);
  }

  clear(): void {
    this.known.clear();
    this.size = 0;
  }
}

/** Returns the number of bytes at the beginning that are the same. Compares large steps first: Node compares those fast. */
export function commonPrefix(a: Uint8Array, b: Uint8Array): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  for (let step = 1 << 16; step > 0; step >>= 4) {
    while (at + step <= end && Buffer.compare(a.subarray(at, at + step), b.subarray(at, at + step)) === 0) at += step;
  }
  while (at < end && a[at] === b[at]) at++;
  return at;
}
