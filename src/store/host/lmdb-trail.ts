// What each change of kept history has made unreachable, so that forgetting it does not mean reading it: a record is some kilobytes, what
// is to be known of it eight bytes.
import type { Revision } from "../engine.ts";
import type { LogRecord } from "./lmdb-records.ts";

const chunkEntries = 4_096;

export class Trail {
  /** Of each revision after `#start` the one it replaced, 0 for none; of a delete its negative. */
  readonly #chunks: Float64Array[] = [];
  #start: Revision;
  #end: Revision;

  constructor(newest: Revision) {
    this.#start = this.#end = newest;
  }

  /** Everything after this revision is known. */
  get start(): Revision {
    return this.#start;
  }

  append({ revision, previous, type }: LogRecord): void {
    this.#end = revision;
    const at = revision - this.#start - 1;
    while (this.#chunks.length <= Math.floor(at / chunkEntries)) this.#chunks.push(new Float64Array(chunkEntries));
    const chunk = this.#chunks[Math.floor(at / chunkEntries)];
    if (chunk) chunk[at % chunkEntries] = type === "delete" ? -previous : previous;
  }

  /** The revisions whose records nobody can reach any more once all is forgotten before `to`, as far as those after `from` tell. */
  unreachable(from: Revision, to: Revision): Revision[] {
    const revisions: Revision[] = [];
    for (let revision = from + 1; revision <= Math.min(to, this.#end); revision++) {
      const at = revision - this.#start - 1;
      const replaced = this.#chunks[Math.floor(at / chunkEntries)]?.[at % chunkEntries] ?? 0;
      if (replaced !== 0) revisions.push(Math.abs(replaced));
      if (replaced < 0) revisions.push(revision);
    }
    return revisions;
  }

  /** Lets go of what was told of revisions up to this one. */
  forget(revision: Revision): void {
    const whole = Math.max(0, Math.floor((revision - this.#start) / chunkEntries));
    this.#chunks.splice(0, whole);
    this.#start += whole * chunkEntries;
  }

  /** The store begins at a revision that another one had reached. */
  beginAt(revision: Revision): void {
    this.#chunks.length = 0;
    this.#start = this.#end = revision;
  }
}
