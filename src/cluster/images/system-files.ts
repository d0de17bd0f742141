// Files of a system: of this machine, or of packages that were unpacked into a folder.
import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Elf, readElf } from "./elf.ts";
import type { TarEntry } from "./tar.ts";

export interface SystemFile {
  /** Where it belongs: `/usr/sbin/nginx`. */
  readonly path: string;
  /** Where it is. */
  readonly source: string;
  readonly content: Buffer;
}

const triplets: Readonly<Record<string, string>> = { x64: "x86_64-linux-gnu", arm64: "aarch64-linux-gnu" };
const triplet = triplets[process.arch] ?? process.arch;
/** Where loaders look when nobody tells them otherwise. */
const libraryFolders = [`/lib/${triplet}`, `/usr/lib/${triplet}`, "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
/** Loaded by the C library when a name is looked up, and so named by no program. Newer ones have them inside. */
const lookups = ["libnss_dns.so.2", "libnss_files.so.2"];

export class SystemFiles {
  readonly #roots: readonly string[];

  /** The first root that has a file counts. */
  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  /** The first of these that is there. */
  find(...paths: readonly string[]): SystemFile | undefined {
    for (const path of paths)
      for (const root of this.#roots) {
        const source = join(root, path);
        if (statSync(source, { throwIfNoEntry: false })?.isFile())
          return { path, source, content: readFileSync(source) };
      }
    return undefined;
  }

  /** A program with all it needs to run. Undefined if there is none, or only one without a loader. Throws if a library is missing. */
  program(...paths: readonly string[]): readonly SystemFile[] | undefined {
    const file = this.find(...paths);
    const elf = file && readElf(file.content);
    if (!file || elf?.interpreter === undefined) return undefined;
    const files = new Map<string, SystemFile>([[file.path, file]]);
    const loader = this.find(elf.interpreter);
    if (!loader) throw new Error(`${file.path} needs the loader ${elf.interpreter}, which is not there`);
    files.set(loader.path, loader);
    this.#addLibraries(elf, file.path, files);
    const libc = [...files.keys()].find((path) => path.endsWith("/libc.so.6"));
    if (libc !== undefined)
      for (const name of lookups) {
        const lookup = this.find(join(dirname(libc), name));
        if (lookup) files.set(lookup.path, lookup);
      }
    return [...files.values()];
  }

  #addLibraries({ machine, needed }: Elf, by: string, files: Map<string, SystemFile>): void {
    for (const name of needed) {
      const candidates = libraryFolders.map((folder) => join(folder, name));
      if (candidates.some((path) => files.has(path))) continue;
      const library = candidates
        .map((path) => this.find(path))
        .find((file) => file && readElf(file.content)?.machine === machine);
      if (!library)
        throw new Error(`${by} needs the library ${name}, which is nowhere in ${libraryFolders.join(", ")}`);
      files.set(library.path, library);
      const elf = readElf(library.content);
      if (elf) this.#addLibraries(elf, library.path, files);
    }
  }
}

/** All are read by everyone, and run by everyone but for what is only read. */
export const entriesOf = (files: readonly SystemFile[]): readonly TarEntry[] =>
  files.map(({ path, content }) => ({
    name: path.slice(1),
    mode: path.startsWith("/etc/") ? 0o644 : 0o755,
    content,
  }));

/** With the folders that files are in, each before what it has; in an order that does not depend on where files were found. */
export function withFolders(entries: readonly TarEntry[]): readonly TarEntry[] {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  for (const { name } of entries)
    for (let folder = dirname(name); folder !== "."; folder = dirname(folder))
      if (!byName.has(`${folder}/`)) byName.set(`${folder}/`, { name: `${folder}/` });
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
