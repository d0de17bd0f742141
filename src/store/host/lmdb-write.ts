import type { Job } from "./lmdb-commit.ts";
import type { Databases } from "./lmdb-open.ts";
import { encodeLog, encodeRevision, type LogRecord } from "./lmdb-records.ts";

const APPEND = { append: true } as const;

/** A write on its way to the disk. While it is, it is in `pending` under its key, unless a later one of the key is. */
export class Write implements Job {
  readonly record: LogRecord;
  readonly promise: Promise<LogRecord>;
  readonly #bytes: Buffer;
  readonly #log: Databases["log"];
  readonly #pending: Map<string, Write>;
  /** What `pending` held before, to go back to; let go when the write is settled, or a chain of them would be kept for ever. */
  #before: Write | undefined;
  readonly #land: (record: LogRecord) => void;
  readonly #resolve: (record: LogRecord) => void;
  readonly #reject: (error: Error) => void;
  /** Set if the log has a later record already, which cannot be. */
  isRefused = false;
  #isSettled = false;

  constructor(
    record: LogRecord,
    log: Databases["log"],
    pending: Map<string, Write>,
    land: (record: LogRecord) => void,
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<LogRecord>();
    this.record = record;
    this.promise = promise;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#bytes = encodeLog(record);
    this.#log = log;
    this.#pending = pending;
    this.#land = land;
    this.#before = pending.get(record.key);
    pending.set(record.key, this);
  }

  get key(): string {
    return this.record.key;
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  get needsSpace(): boolean {
    return this.record.type === "put";
  }

  /** Resolves when the write is done or has failed. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.promise]);
  }

  write(): void {
    this.#log.put(encodeRevision(this.record.revision), this.#bytes, APPEND).then(
      (isAppended) => {
        this.isRefused = !isAppended;
      },
      () => undefined, // the committer hears of it
    );
  }

  isWritten(): boolean {
    return this.#log.doesExist(encodeRevision(this.record.revision));
  }

  done(): void {
    this.#isSettled = true;
    if (this.#pending.get(this.key) === this) this.#pending.delete(this.key);
    this.#before = undefined;
    this.#land(this.record);
    this.#resolve(this.record);
  }

  failed(error: Error): void {
    this.#isSettled = true;
    if (this.#pending.get(this.key) === this)
      if (this.#before && !this.#before.#isSettled) this.#pending.set(this.key, this.#before);
      else this.#pending.delete(this.key);
    this.#before = undefined;
    this.#reject(error);
  }
}
