// The file that audit events are appended to, a line each. One that has become long is renamed to a name with the time in it, and a new one is
// begun; old ones are removed by number and age. Names are those of upstream's lumberjack, so that collectors find them.
import { createReadStream, createWriteStream, writeSync } from "node:fs";
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { eventLine } from "../audit/event.ts";
import type { AuditBackend, AuditRecord } from "../audit/sink.ts";

export interface AuditLogOptions {
  /** `-` is standard output. */
  readonly path: string;
  readonly format: "json" | "legacy";
  /** A file that would become longer is put aside; 0 is never. */
  readonly maxBytes: number;
  /** How many old files are kept, and for how long; 0 is all, and for ever. */
  readonly maxBackups: number;
  readonly maxAgeMs: number;
  readonly compress: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export async function auditLogFile(options: AuditLogOptions): Promise<AuditBackend> {
  const { path, format } = options;
  const lineOf = format === "json" ? ({ json }: AuditRecord) => json : ({ event }: AuditRecord) => eventLine(event);
  const file = path === "-" ? standardOutput : await LogFile.open(options);
  return {
    name: "log",
    isOrdered: true,
    write(records) {
      let text = "";
      for (const record of records) text += `${lineOf(record)}\n`;
      return file.append(text);
    },
    close: () => file.close(),
  };
}

interface Appendable {
  append(text: string): Promise<void>;
  close(): Promise<void>;
}

const standardOutput: Appendable = {
  append: (text) =>
    new Promise((resolve, reject) => process.stdout.write(text, (error) => (error ? reject(error) : resolve()))),
  close: async () => undefined,
};

const slowWriteMs = 5;
const busyDiskMs = 60_000;

class LogFile implements Appendable {
  readonly #options: AuditLogOptions;
  #handle: FileHandle;
  #size: number;
  /** Until then the disk is taken to be busy. */
  #busyUntil = 0;
  /** Old files are compressed and removed one after another, and nobody waits for it. */
  #tidying: Promise<void> = Promise.resolve();

  private constructor(options: AuditLogOptions, handle: FileHandle, size: number) {
    this.#options = options;
    this.#handle = handle;
    this.#size = size;
  }

  static async open(options: AuditLogOptions): Promise<LogFile> {
    await mkdir(dirname(options.path), { recursive: true, mode: 0o700 });
    const handle = await open(options.path, "a", 0o600);
    return new LogFile(options, handle, (await handle.stat()).size);
  }

  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const { maxBytes } = this.#options;
    if (maxBytes > 0 && this.#size > 0 && this.#size + bytes.length > maxBytes) await this.#rotate();
    for (let written = 0; written < bytes.length; ) {
      try {
        written += await this.#write(bytes, written);
      } catch (error) {
        if (written > 0) await this.#forgetAfter(this.#size);
        throw error;
      }
    }
    this.#size += bytes.length;
  }

  /** An append to the page cache takes some microseconds, a fraction of what a hop to another thread takes. A disk that cannot follow makes
   * it wait: after one such write the event loop is spared for a while. */
  async #write(bytes: Buffer, offset: number): Promise<number> {
    const { clock } = this.#options;
    const start = clock.elapsed();
    if (start < this.#busyUntil) return (await this.#handle.write(bytes, offset)).bytesWritten;
    const written = writeSync(this.#handle.fd, bytes, offset);
    const end = clock.elapsed();
    if (end - start > slowWriteMs) this.#busyUntil = end + busyDiskMs;
    return written;
  }

  async close(): Promise<void> {
    await this.#handle.close();
    await this.#tidying;
  }

  /** On a full disk a line may have been begun: half a line would spoil the next one. */
  async #forgetAfter(size: number): Promise<void> {
    try {
      await this.#handle.truncate(size);
    } catch (error) {
      this.#options.log.warn("the audit log holds half an event", { error });
    }
  }

  async #rotate(): Promise<void> {
    const { path, clock, log } = this.#options;
    const aside = backupName(path, clock.now());
    await rename(path, aside);
    const handle = await open(path, "a", 0o600);
    await this.#handle.close();
    this.#handle = handle;
    this.#size = 0;
    this.#tidying = this.#tidying
      .then(() => this.#tidy())
      .catch((error: unknown) => log.warn("old audit logs are not removed", { error }));
  }

  async #tidy(): Promise<void> {
    const { path, maxBackups, maxAgeMs, compress, clock } = this.#options;
    const folder = dirname(path);
    const prefix = `${basename(path, extname(path))}-`;
    const backups = (await readdir(folder))
      .filter((name) => name.startsWith(prefix) && backupTime(name.slice(prefix.length)) !== undefined)
      .sort()
      .reverse();
    for (const [i, name] of backups.entries()) {
      const at = backupTime(name.slice(prefix.length)) ?? 0;
      const file = join(folder, name);
      if ((maxBackups > 0 && i >= maxBackups) || (maxAgeMs > 0 && clock.now() - at > maxAgeMs))
        await rm(file, { force: true });
      else if (compress && !name.endsWith(".gz")) await compressed(file);
    }
  }
}

/** `audit-2026-01-02T03-04-05.678.log` beside `audit.log`. */
function backupName(path: string, now: number): string {
  const extension = extname(path);
  const time = new Date(now).toISOString().slice(0, -1).replaceAll(":", "-");
  return join(dirname(path), `${basename(path, extension)}-${time}${extension}`);
}

function backupTime(rest: string): number | undefined {
  const match = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})(\.|$)/.exec(rest);
  return match ? Date.parse(`${match[1]}T${match[2]}:${match[3]}:${match[4]}Z`) : undefined;
}

async function compressed(file: string): Promise<void> {
  const { mode } = await stat(file);
  try {
    await pipeline(createReadStream(file), createGzip(), createWriteStream(`${file}.gz`, { mode }));
  } catch (error) {
    await rm(`${file}.gz`, { force: true });
    if (!hasCode(error, "ENOENT")) throw error;
    return;
  }
  await rm(file, { force: true });
}
