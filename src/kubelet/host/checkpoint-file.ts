// A file that one kubelet leaves for the next: whole or not at all.
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { hasCode } from "#base/errors.ts";
import { parseJson } from "#schema/json.ts";

const version = 1;

/** Only we write the file, so its version says what is in it. */
export class CheckpointFile<T> {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined if there is none. */
  async read(): Promise<T | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, "utf8");
    } catch (error) {
      if (hasCode(error, "ENOENT")) return undefined;
      throw error;
    }
    const { value } = parseJson(text);
    const isOurs = typeof value === "object" && value !== null && "version" in value && value.version === version;
    if (!isOurs || !("content" in value)) throw new Error(`${this.#path}: not a checkpoint of version ${version}`);
    return value.content as T;
  }

  /** Resolves when it is on the disk, in place of the one before. */
  async write(content: T): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o750 });
    const file = await open(`${this.#path}.new`, "w", 0o600);
    try {
      await file.writeFile(JSON.stringify({ version, content }));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${this.#path}.new`, this.#path);
  }
}
