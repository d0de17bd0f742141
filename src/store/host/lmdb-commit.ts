// Many writers share one flush. One transaction is under way at a time; what arrives meanwhile goes into the next.
import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { turn } from "#base/breathe.ts";
import { systemClock } from "#base/clock.ts";
import { OutOfSpace, Unavailable } from "../engine.ts";
import type { Databases } from "./lmdb-open.ts";

/** Something to be written. The calls come in the order of `add`. */
export interface Job {
  readonly bytes: number;
  /** Hands the writes to LMDB, which copies nothing: buffers must stay as they are until the job ends. */
  write(): void;
  /** Whether LMDB has left this out of a transaction that succeeded. */
  readonly isRefused?: boolean;
  /** Whether a transaction that failed has written this nevertheless. */
  isWritten?(): boolean;
  /** The writes are on disk. */
  done(): void;
  /** The writes are not on disk and never will be. */
  failed(error: Error): void;
  /** The same, because a write of the key failed that this one was checked against. */
  baseFailed(): void;
  /** The key written, if it is one: when a write fails, later ones of the key fail too, for they were checked against it. */
  readonly key?: string;
  /** Whether to give up when the disk is full. Deletes and compaction do not: they make room. */
  readonly needsSpace: boolean;
}

/** A transaction takes at most so much: a larger one would hold the thread too long when it is handed over and when it ends. */
const maxJobs = 512;
const maxBytes = 8 << 20;
/** So many writers are answered in one turn: each is likely to make its next write at once, which takes some 20 µs. */
const answers = 64;
/** LMDB loses track of a transaction that it could not even begin. No disk takes longer than this, on the clock of the machine. */
const patienceMs = 120_000;

export interface CommitEvents {
  /** Some jobs of a transaction, or all, have been told that they are done; comes before anything else happens. */
  afterAnswers(): void;
  /** The disk is full; what makes room is tried again after this. Says whether there is some for it now. */
  outOfSpace(error: OutOfSpace): boolean;
  /** What the disk has left, and whether something is kept that outOfSpace would give up. */
  room(): { readonly freeBytes: number; readonly hasReserve: boolean };
}

/** LMDB writes about twice what it is given, and this much beside; more is left where another may be filling the disk at the same time. */
const writeFactor = 2;
const putMargin = 4 << 20;
const deleteMargin = 1 << 20;

export class Committer {
  readonly #databases: Databases;
  readonly #events: CommitEvents;
  /** What goes into the transaction that begins at the end of this turn; undefined while one is under way. */
  #batch: Job[] | undefined = [];
  #batchBytes = 0;
  #queue: Job[] = [];
  #running: Promise<void> | undefined;
  #broken: Unavailable | undefined;
  /** As it was before the first job of the batch. */
  #room = { freeBytes: 0, hasReserve: false };
  /** Why the batch is not even handed to LMDB. */
  #refusal: OutOfSpace | undefined;

  constructor(databases: Databases, events: CommitEvents) {
    this.#databases = databases;
    this.#events = events;
    databases.root.on("beforecommit", () => this.#begin());
  }

  /** Why nothing can be written any more, if so: it is not known whether the last writes are on disk. */
  get broken(): Unavailable | undefined {
    return this.#broken;
  }

  add(job: Job): void {
    this.#queue.push(job);
    this.#fill();
  }

  /** Resolves when all that was added is done or has failed. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /** Writes something that belongs to no key, and waits until it is on disk. */
  write(bytes: number, write: () => void): Promise<void> {
    return new Promise((resolve, reject) =>
      this.add({
        bytes,
        write: () => {
          write();
          this.#listen();
        },
        done: resolve,
        failed: reject,
        baseFailed: () => reject(new Error("a write without a key was taken for one with a key")),
        needsSpace: false,
      }),
    );
  }

  /** Hands to LMDB what fits into the transaction of this turn. */
  #fill(): void {
    const batch = this.#batch;
    if (!batch) return;
    let taken = 0;
    for (const job of this.#queue) {
      if (batch.length === 0) this.#room = this.#events.room();
      else if (batch.length >= maxJobs || this.#batchBytes + job.bytes > maxBytes) break;
      if (!this.#refusal && !this.#hasRoomFor(job)) {
        if (batch.length > 0) break;
        this.#refusal = new OutOfSpace(fullMessage(this.#databases.path));
      }
      batch.push(job);
      this.#batchBytes += job.bytes;
      taken++;
      if (!this.#broken && !this.#refusal) job.write();
    }
    if (taken === this.#queue.length) this.#queue = [];
    else this.#queue.splice(0, taken);
    if (taken > 0) this.#running ??= this.#run();
  }

  /**
   * LMDB must not find the disk full by itself: it describes that in a buffer that is too small for the description, and the process may
   * end for it. Only who makes room may try when nothing is left to give up: what the file has free within may be enough.
   */
  #hasRoomFor({ bytes, needsSpace }: Job): boolean {
    const { freeBytes, hasReserve } = this.#room;
    const left = freeBytes - writeFactor * (this.#batchBytes + bytes);
    return needsSpace ? left >= putMargin : left >= deleteMargin || !hasReserve;
  }

  /** LMDB begins the transaction: what is added from now on belongs to the next. */
  #begin(): void {
    this.#batch = undefined;
    queueMicrotask(() => this.#listen());
  }

  /** lmdb makes several promises for one transaction, another one just after it began; if one failed unheard, the process would end. */
  #listen(): void {
    this.#databases.root.committed.then(
      () => undefined,
      () => undefined,
    );
  }

  async #run(): Promise<void> {
    while (this.#batch && this.#batch.length > 0) {
      const batch = this.#batch;
      const failure = await this.#failureOf(batch);
      this.#batch = undefined; // who is answered writes again: that goes with what the others write
      if (failure) this.#fail(batch, failure);
      else await this.#answer(batch);
      this.#batch = [];
      this.#batchBytes = 0;
      this.#refusal = undefined;
      this.#fill();
    }
    this.#running = undefined;
  }

  async #answer(batch: readonly Job[]): Promise<void> {
    for (let from = 0; from < batch.length; from += answers) {
      if (from > 0) await turn();
      for (const job of batch.slice(from, from + answers)) job.done();
      this.#events.afterAnswers();
    }
    await undefined; // everyone who was just answered may add the next write
  }

  /** Waits until the batch is on disk; tells why it is not. */
  async #failureOf(batch: readonly Job[]): Promise<Error | undefined> {
    if (this.#broken) return this.#broken;
    if (this.#refusal) return this.#refusal;
    const { root, path } = this.#databases;
    const { promise: tooLong, reject } = Promise.withResolvers<never>();
    const cancel = systemClock.after(patienceMs, () =>
      reject(new Unavailable(`store ${path}: a write did not end within ${patienceMs / 1000} s`)),
    );
    try {
      await Promise.race([Promise.all([root.committed, root.flushed]), tooLong]);
      if (batch.some((job) => job.isRefused)) throw new Error("LMDB left out a record");
      return undefined;
    } catch (error) {
      const cause = await commitError(error);
      if (cause === error || batch.some((job) => job.isWritten?.())) {
        this.#broken = new Unavailable(`store ${path}: it is not known what was written; restart to see`, { cause });
        return this.#broken;
      }
      return isFull(path, cause)
        ? new OutOfSpace(fullMessage(path), { cause })
        : new Unavailable(`store ${path}: a write failed, and nothing of it was written`, { cause });
    } finally {
      cancel();
    }
  }

  #fail(batch: readonly Job[], error: Error): void {
    const isFull = error instanceof OutOfSpace;
    const hasRoom = isFull && this.#events.outOfSpace(error);
    // Makers of room that failed without others in their way would fail for ever, unless there is room for them now.
    const givesUp = !isFull || (!hasRoom && batch.every(({ needsSpace }) => !needsSpace));
    const failedKeys = new Set<string>();
    const answers: (() => void)[] = [];
    const kept: Job[] = [];
    for (const [i, job] of [...batch, ...this.#queue].entries()) {
      const { key } = job;
      if (job.needsSpace || (givesUp && (!isFull || i < batch.length))) answers.push(() => job.failed(error));
      else if (key !== undefined && failedKeys.has(key)) answers.push(() => job.baseFailed());
      else {
        kept.push(job);
        continue;
      }
      if (key !== undefined) failedKeys.add(key);
    }
    this.#queue = kept;
    for (const answer of answers) answer();
  }
}

const fullMessage = (path: string) => `store ${path}: the disk is full; free some space there, or delete objects`;

/** LMDB calls it an input/output error when only a part could be written, so the disk is asked. */
function isFull(path: string, cause: Error): boolean {
  if (/ENOSPC|EDQUOT|[Nn]o space left|quota exceeded/.test(cause.message)) return true;
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize < maxBytes;
}

/** lmdb hides the reason of a failed commit in a promise beside the error. */
async function commitError(error: unknown): Promise<Error> {
  if (error instanceof Error && "commitError" in error)
    try {
      await error.commitError;
    } catch (cause) {
      if (cause instanceof Error) return cause;
    }
  return error instanceof Error ? error : new Error(String(error));
}
