// A segment of the store on disk. It only grows; a write that did not come to its end is cut off when it is opened again.
import { type FileHandle, open, readFile, rm, truncate } from "node:fs/promises";
import { hasCode } from "#base/errors.ts";
import { readIndex, SegmentIndex } from "../store/segment-index.ts";

const magic = new TextEncoder().encode("knarr-log-1\n");

export class SegmentFile {
  readonly number: number;
  readonly path: string;
  readonly index: SegmentIndex;
  #writing: FileHandle | undefined;

  private constructor(number: number, path: string, index: SegmentIndex, writing?: FileHandle) {
    this.number = number;
    this.path = path;
    this.index = index;
    this.#writing = writing;
  }

  static async create(number: number, path: string): Promise<SegmentFile> {
    const handle = await open(path, "wx", 0o600);
    await handle.write(magic, 0, magic.length, 0);
    return new SegmentFile(number, path, new SegmentIndex(magic.length), handle);
  }

  /** Undefined if it is no segment. `damagedBytes` is what is in the file after the last whole record. */
  static async load(
    number: number,
    path: string,
  ): Promise<{ readonly segment: SegmentFile | undefined; readonly damagedBytes: number }> {
    const bytes = await readFile(path);
    if (!bytes.subarray(0, magic.length).equals(magic)) return { segment: undefined, damagedBytes: bytes.length };
    const index = readIndex(bytes, magic.length);
    return { segment: new SegmentFile(number, path, index), damagedBytes: bytes.length - index.bytes };
  }

  /** On disk when it resolves. After a failed write the file is opened anew and cut off where the last good one ended. */
  async append(bytes: Uint8Array): Promise<void> {
    this.#writing ??= await this.#reopened();
    const handle = this.#writing;
    try {
      for (let at = 0; at < bytes.length; ) {
        const { bytesWritten } = await handle.write(bytes, at, bytes.length - at, this.index.bytes + at);
        at += bytesWritten;
      }
      await handle.datasync();
    } catch (error) {
      await this.seal();
      throw error;
    }
  }

  async #reopened(): Promise<FileHandle> {
    await truncate(this.path, this.index.bytes);
    return open(this.path, "r+");
  }

  /** Nothing more will be written. */
  async seal(): Promise<void> {
    await this.#writing?.close();
    this.#writing = undefined;
  }

  async remove(): Promise<void> {
    await this.seal();
    await rm(this.path, { force: true });
  }
}

/** Reads pieces of a file that may be removed at any time. */
export class SegmentPieces implements AsyncDisposable {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #isGone = false;

  constructor(path: string) {
    this.#path = path;
  }

  async read(from: number, to: number): Promise<Uint8Array | undefined> {
    if (this.#isGone) return undefined;
    try {
      this.#handle ??= await open(this.#path, "r");
    } catch (error) {
      if (!hasCode(error, "ENOENT")) throw error;
      this.#isGone = true;
      return undefined;
    }
    const { buffer, bytesRead } = await this.#handle.read(new Uint8Array(to - from), 0, to - from, from);
    return buffer.subarray(0, bytesRead);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}
