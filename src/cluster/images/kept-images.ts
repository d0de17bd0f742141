// Images that a person loaded into a cluster, kept in its folder: nodes that are added or made anew get them when they start.
import { mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImageArchive } from "./archive.ts";

export class KeptImages {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The oldest first: where two have an image of the same name, the later counts. */
  archives(): readonly string[] {
    return this.#numbers().map((number) => this.#path(number));
  }

  /** A name for a file to be added. Whoever asks holds the lock of the folder. */
  scratch(name: string): string {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const path = join(this.folder, `${name}.new`);
    rmSync(path, { force: true });
    return path;
  }

  /** Takes over a file, and lets those go of which every image has been replaced since. Returns where it is. */
  async add(file: string): Promise<string> {
    const path = this.#path((this.#numbers().at(-1) ?? 0) + 1);
    renameSync(file, path);
    const seen = new Set<string>();
    for (const archive of this.archives().toReversed()) {
      const names = await namesIn(archive);
      if (names.every((name) => seen.has(name))) rmSync(archive);
      for (const name of names) seen.add(name);
    }
    return path;
  }

  #path(number: number): string {
    return join(this.folder, `${number}.tar`);
  }

  #numbers(): readonly number[] {
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    return readdirSync(this.folder)
      .flatMap((name) => /^(\d+)\.tar$/.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((a, b) => a - b);
  }
}

async function namesIn(path: string): Promise<readonly string[]> {
  await using archive = await ImageArchive.open(path);
  return (await archive.images()).map(({ reference }) => reference);
}
