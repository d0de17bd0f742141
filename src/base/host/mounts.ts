import { readFileSync } from "node:fs";

export interface Mount {
  readonly path: string;
  /** Of the file system: `overlay`, `cgroup2`. */
  readonly type: string;
  /** Options of the file system itself, such as the folders an overlay is made of. */
  readonly options: string;
}

/** What this process, or another, sees mounted, in the order in which it was. Throws if there is no such process. */
export const mounts = (process: number | "self" = "self"): readonly Mount[] =>
  readFileSync(`/proc/${process}/mountinfo`, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [place = "", system = ""] = line.split(" - ");
      const path = place.split(" ")[4];
      const [type = "", , options = ""] = system.split(" ");
      return path === undefined ? [] : [{ path: unescaped(path), type, options: unescaped(options) }];
    });

/** What is mounted at or below these folders, the innermost first: to be unmounted in this order. */
export const mountsBelow = (...folders: readonly string[]): readonly string[] =>
  mounts()
    .map(({ path }) => path)
    .filter((path) => folders.some((folder) => path === folder || path.startsWith(`${folder}/`)))
    .reverse();

/** The kernel writes spaces, and what else would end a field, as octal numbers. */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
