// Reads the log of one run of a container across its rotations. The file that is read stays open, so that a rotation, a compression or
// the end of the pod takes nothing away that is still to be read.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { hasCode } from "#base/errors.ts";
import type { Checkpoint } from "../checkpoints.ts";
import { type JoinedLine, LineJoiner } from "../line-joiner.ts";
import { type LogPart, logParts } from "../log-parts.ts";
import { type OpenLogFile, openLogFile } from "./log-file.ts";

export interface ContainerLogReaderOptions {
  /** Of the container: its runs and their rotated parts are in it. */
  readonly folder: string;
  /** Of the run: `0.log`. */
  readonly log: string;
  readonly checkpoint: Checkpoint | undefined;
  readonly maxLineBytes: number;
  readonly clock: Clock;
}

/** A file that was read, as far as a checkpoint may have to name it. */
interface ReadFile {
  /** How it begins: the first bytes that were read of it. */
  head: Uint8Array;
  readonly base: number;
}

interface OpenPart {
  readonly file: OpenLogFile;
  stem: string;
  readonly isCompressed: boolean;
  offset: number;
}

const headBytes = 256;
/** After a rotation the runtime may write to the old file for a moment. */
const settleMs = 2000;

export class ContainerLogReader {
  /** Parts that were removed before they were read. */
  lostParts = 0;
  /** All was read, and the log was removed. */
  isOver = false;
  readonly #options: ContainerLogReaderOptions;
  readonly #joiner: LineJoiner;
  /** The current file last. */
  #files: readonly ReadFile[] = [];
  #part: OpenPart | undefined;
  #next: LogPart | undefined;
  /** The parts among which it is the next. */
  #names = "";
  /** Rotated parts that are still to be read. */
  #ahead: ReadonlySet<string> = new Set();
  /** Since when the log is known to go on elsewhere, or to be gone. */
  #endedAt: number | undefined;

  constructor(options: ContainerLogReaderOptions) {
    const { checkpoint, maxLineBytes } = options;
    this.#options = options;
    this.#joiner = new LineJoiner({ delivered: checkpoint?.delivered ?? 0, maxLineBytes });
  }

  get malformed(): number {
    return this.#joiner.malformed;
  }

  /** Lines that have become whole; reads at most so many bytes. Undefined if there was nothing to read. */
  async readLines(mostBytes: number): Promise<readonly JoinedLine[] | undefined> {
    const part = this.#part ?? (await this.#begin());
    if (!part) return undefined;
    const bytes = await part.file.read(mostBytes);
    if (bytes.length === 0) return (await this.#atEnd(part)) ? [] : undefined;
    part.offset += bytes.length;
    const file = this.#files.at(-1);
    if (file && file.head.length < headBytes && part.offset - bytes.length === file.head.length)
      file.head = Buffer.concat([file.head, bytes.subarray(0, headBytes - file.head.length)]);
    return this.#joiner.add(bytes);
  }

  /** What to remember when a line and all before it were delivered. */
  checkpoint({ resumeAt, position }: Pick<JoinedLine, "resumeAt" | "position">): Checkpoint {
    const at = this.#files.findLastIndex(({ base, head }) => base < resumeAt || (base === resumeAt && head.length > 0));
    this.#files = this.#files.slice(Math.max(0, at));
    const [file = { head: new Uint8Array(), base: resumeAt }] = this.#files;
    return {
      head: Buffer.from(file.head).toString("base64"),
      base: file.base,
      offset: resumeAt - file.base,
      delivered: position,
    };
  }

  /** Looks for rotations. To be called now and then, also while nothing can be read. */
  async look(): Promise<void> {
    const part = this.#part;
    if (!part) return void (await this.#begin());
    const parts = await this.#parts();
    this.#names = namesOf(parts);
    const at = await this.#indexOf(part, parts);
    const own = parts[at];
    if (own) part.stem = own.stem;
    const present = new Set(parts.map(({ stem }) => stem));
    for (const stem of this.#ahead) if (!present.has(stem)) this.lostParts++;
    const later = parts.slice(at + 1);
    this.#ahead = new Set(later.map(({ stem }) => stem).filter((stem) => stem !== this.#options.log));
    this.#next = later[0];
    const hasEnded = this.#next !== undefined || parts.length === 0;
    this.#endedAt = hasEnded ? (this.#endedAt ?? this.#options.clock.elapsed()) : undefined;
  }

  async close(): Promise<void> {
    await this.#part?.file.close();
    this.#part = undefined;
  }

  /** Whether there may be more at once. */
  async #atEnd(part: OpenPart): Promise<boolean> {
    const { clock } = this.#options;
    if (await part.file.isTruncated()) {
      await this.look();
      await this.#openNext({ stem: part.stem, name: part.stem, isCompressed: false });
      return true;
    }
    if (this.#endedAt === undefined) return false;
    if (!part.isCompressed && clock.elapsed() - this.#endedAt < settleMs) return false;
    await this.look();
    if (!this.#next) {
      this.isOver = this.#endedAt !== undefined;
      return false;
    }
    return (await this.#openNext(this.#next)) !== undefined;
  }

  /** Goes on in another file, if it is still there. */
  async #openNext(part: LogPart): Promise<OpenPart | undefined> {
    const file = await this.#open(part, 0, this.#names);
    const last = this.#files.at(-1);
    if (!file) return undefined;
    const base = (last?.base ?? 0) + (this.#part?.offset ?? 0);
    await this.#part?.file.close();
    this.#joiner.endOfFile();
    this.#files = [...this.#files, { head: new Uint8Array(), base }];
    this.#part = { file, stem: part.stem, isCompressed: part.isCompressed, offset: 0 };
    this.#next = undefined;
    this.#endedAt = undefined;
    this.#ahead = new Set([...this.#ahead].filter((stem) => stem !== part.stem));
    await this.look();
    return this.#part;
  }

  /** Where the checkpoint says; without one, at the beginning of the oldest part. */
  async #begin(): Promise<OpenPart | undefined> {
    const { checkpoint } = this.#options;
    const parts = await this.#parts();
    const head = checkpoint && new Uint8Array(Buffer.from(checkpoint.head, "base64"));
    let [start] = parts;
    let offset = 0;
    let base = checkpoint ? checkpoint.base + checkpoint.offset : 0;
    if (checkpoint && head) {
      const at = await this.#findHead(head, parts);
      if (at < 0 && parts.length > 0) this.lostParts++;
      if (at >= 0) [start, offset, base] = [parts[at], checkpoint.offset, checkpoint.base];
      else base = Math.max(base, checkpoint.delivered);
    }
    const file = start && (await this.#open(start, offset, namesOf(parts)));
    this.isOver = !start;
    if (!start || !file) return undefined;
    this.#files = [{ head: (offset > 0 ? head : undefined) ?? new Uint8Array(), base }];
    this.#joiner.moveTo(base + offset);
    this.#part = { file, stem: start.stem, isCompressed: start.isCompressed, offset };
    await this.look();
    return this.#part;
  }

  /** Undefined if the parts are no longer these: after a rotation the same name is that of another part. */
  async #open({ name, isCompressed }: LogPart, offset: number, names: string): Promise<OpenLogFile | undefined> {
    const file = await openLogFile(join(this.#options.folder, name), isCompressed, offset);
    if (!file || namesOf(await this.#parts()) === names) return file;
    await file.close();
    return undefined;
  }

  async #parts(): Promise<readonly LogPart[]> {
    const { folder, log } = this.#options;
    try {
      return logParts(await readdir(folder), log);
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
      throw error;
    }
  }

  /** Which of the parts is open: by its inode or, if it was compressed meanwhile, by its name or by how it begins. */
  async #indexOf({ file, stem }: OpenPart, parts: readonly LogPart[]): Promise<number> {
    for (const [i, part] of [...parts.entries()].toReversed())
      if (!part.isCompressed && file.inode !== undefined && (await this.#inodeOf(part)) === file.inode) return i;
    const named = parts.findIndex((part) => part.stem === stem && part.isCompressed);
    if (named >= 0) return named;
    const head = this.#files.at(-1)?.head;
    return head && head.length > 0 ? this.#findHead(head, parts) : -1;
  }

  async #findHead(head: Uint8Array, parts: readonly LogPart[]): Promise<number> {
    for (const [i, part] of parts.entries()) {
      const file = await openLogFile(join(this.#options.folder, part.name), part.isCompressed, 0);
      if (!file) continue;
      try {
        const begins: Uint8Array[] = [];
        for (let left = head.length; left > 0; ) {
          const bytes = await file.read(left);
          if (bytes.length === 0) break;
          begins.push(bytes.subarray(0, left));
          left -= Math.min(left, bytes.length);
        }
        if (Buffer.concat(begins).equals(head)) return i;
      } finally {
        await file.close();
      }
    }
    return -1;
  }

  async #inodeOf({ name }: LogPart): Promise<number | undefined> {
    try {
      return (await stat(join(this.#options.folder, name))).ino;
    } catch (error) {
      if (hasCode(error, "ENOENT", "ENOTDIR")) return undefined;
      throw error;
    }
  }
}

const namesOf = (parts: readonly LogPart[]): string => parts.map(({ name }) => name).join("/");
