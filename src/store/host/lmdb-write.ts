import { Conflict, type Entry } from "../engine.ts";
import type { Job } from "./lmdb-commit.ts";
import type { Databases } from "./lmdb-open.ts";
import { encodeLog, encodeRevision, type LogRecord } from "./lmdb-records.ts";

const append = { append: true } as const;

const slabBytes = 1 << 18;

/** Buffers cut from larger ones: a buffer of its own for each write costs more than the write. */
export class Slab {
  #slab = Buffer.allocUnsafeSlow(slabBytes);
  #used = 0;

  readonly take = (bytes: number): Buffer => {
    if (bytes > slabBytes / 8) return Buffer.allocUnsafeSlow(bytes);
    if (this.#used + bytes > slabBytes) {
      this.#slab = Buffer.allocUnsafeSlow(slabBytes);
      this.#used = 0;
    }
    this.#used += bytes;
    return this.#slab.subarray(this.#used - bytes, this.#used);
  };
}

/** What all writes of a store share. */
export interface WriteContext {
  readonly log: Databases["log"];
  /** The last write of each key that is not on disk yet. */
  readonly pending: Map<string, LmdbWrite>;
  readonly slab: Slab;
  /** To be told of a write that is on disk. */
  land(record: LogRecord): void;
  /** What is on disk under a key. */
  present(key: string): Entry | undefined;
}

/** A write on its way to the disk. While it is, it is in `pending` under its key, unless a later one of the key is. */
export class LmdbWrite implements Job {
  /** As it was given, with its value where the log has it: history would keep the writer's own, and they would tear the memory apart. */
  readonly record: LogRecord;
  readonly promise: Promise<LogRecord>;
  readonly needsSpace: boolean;
  readonly #bytes: Buffer;
  readonly #context: WriteContext;
  /** What `pending` held before, to go back to; let go when the write is settled, or a chain of them would be kept for ever. */
  #before: LmdbWrite | undefined;
  readonly #resolve: (record: LogRecord) => void;
  readonly #reject: (error: Error) => void;
  /** Set if the log has a later record already, which cannot be. */
  isRefused = false;
  #isSettled = false;

  constructor(record: LogRecord, context: WriteContext, needsSpace: boolean) {
    const { promise, resolve, reject } = Promise.withResolvers<LogRecord>();
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bytes = encodeLog(record, context.slab.take);
    this.record = { ...record, value: this.#bytes.subarray(this.#bytes.length - record.value.length) };
    this.#context = context;
    this.needsSpace = needsSpace;
    this.#before = context.pending.get(record.key);
    context.pending.set(record.key, this);
  }

  get key(): string {
    return this.record.key;
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  /** Resolves when the write is done or has failed. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.promise]);
  }

  write(): void {
    this.#context.log.put(encodeRevision(this.record.revision), this.#bytes, append).then(
      (isAppended) => {
        this.isRefused = !isAppended;
      },
      () => undefined, // the committer hears of it
    );
  }

  isWritten(): boolean {
    return this.#context.log.doesExist(encodeRevision(this.record.revision));
  }

  done(): void {
    this.#isSettled = true;
    const { pending } = this.#context;
    if (pending.get(this.key) === this) pending.delete(this.key);
    this.#before = undefined;
    this.#context.land(this.record);
    this.#resolve(this.record);
  }

  failed(error: Error): void {
    this.#isSettled = true;
    const { pending } = this.#context;
    if (pending.get(this.key) === this)
      if (this.#before && !this.#before.#isSettled) pending.set(this.key, this.#before);
      else pending.delete(this.key);
    this.#before = undefined;
    this.#reject(error);
  }

  baseFailed(): void {
    const { key } = this;
    this.failed(new Conflict(key, this.record.previous, this.#context.present(key)));
  }
}
