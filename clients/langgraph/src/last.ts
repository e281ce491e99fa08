import type { Checkpoint } from "@langchain/langgraph-checkpoint";

/** The largest number of bytes of a name in a call that goes to the log: the server refuses longer ones, in an answer. */
const LONG = 512;

/** The number of threads and namespaces that are remembered. */
const MOST = 1000;

interface Last {
  id: string;
  versions: Checkpoint["channel_versions"];
}

/** Remembers the newest checkpoint that was stored in each namespace of a thread, by which the saver knows which calls need no answer. */
export class LastPuts {
  private readonly puts = new Map<string, Last>(); // by thread and namespace
  private readonly threads = new Map<string, true>();
  private readonly asked = new Map<string, number>(); // by thread: calls that are not answered

  /** Reports whether the thread exists, and no call about it waits for its answer. The names of the call must not be long. */
  has(thread: string, names: (string | undefined)[]): boolean {
    return this.threads.has(thread) && !this.asked.has(thread) && names.every((name) => name === undefined || name.length <= LONG);
  }

  /** Reports whether the server stores a checkpoint as it is, so that its answer says nothing new. `sent` are the channels whose values are sent. */
  leadsTo(thread: string, ns: string, parent: string | undefined, checkpoint: Checkpoint, sent: Set<string>): boolean {
    const last = this.puts.get(keyOf(thread, ns));
    const { id, channel_values: values, channel_versions: versions } = checkpoint;
    if (last === undefined || last.id !== parent || typeof id !== "string" || id <= last.id || !values || !versions) return false;
    const channels = Object.keys(values);
    if (!this.has(thread, [id, ns, ...channels])) return false;
    return channels.every((channel) => sent.has(channel) || versions[channel] === undefined || versions[channel] === last.versions[channel]);
  }

  set(thread: string, ns: string, { id, channel_versions }: Checkpoint): void {
    keep(this.threads, thread, true);
    keep(this.puts, keyOf(thread, ns), { id, versions: { ...channel_versions } });
  }

  /** Notes that a call about a thread waits for its answer, which is returned. */
  async during<T>(thread: string, answer: Promise<T>): Promise<T> {
    this.asked.set(thread, (this.asked.get(thread) ?? 0) + 1);
    try {
      return await answer;
    } finally {
      const left = this.asked.get(thread)! - 1;
      if (left > 0) this.asked.set(thread, left);
      else this.asked.delete(thread);
    }
  }

  /** Forgets a thread: its next call is asked. */
  forget(thread: string): void {
    this.threads.delete(thread);
  }

  clear(): void {
    this.puts.clear();
    this.threads.clear();
  }
}

function keyOf(thread: string, ns: string): string {
  return JSON.stringify([thread, ns]);
}

/** Puts a value into a map that forgets its oldest values. */
function keep<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MOST) map.delete(map.keys().next().value!);
}
