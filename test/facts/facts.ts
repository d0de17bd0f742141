// The tables of names and numbers of the API that lie beside the repository. Where they are missing, what needs them is skipped.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = ["../shared/facts", "../../shared/facts"]
  .map((path) => join(import.meta.dirname, "../..", path))
  .find((path) => existsSync(path));

/** What to pass as a test's `skip`: a reason, or false. */
export const missing: string | false =
  folder === undefined ? "the tables of API facts are not beside the repository" : false;

export const facts = <T>(name: string): T => JSON.parse(readFileSync(join(folder ?? ".", `${name}.json`), "utf8")) as T;

/** Differences that have a reason: `where` (may end in `*`) and why. Those that no longer occur are themselves wrong. */
export class Exceptions {
  readonly #reasons: Readonly<Record<string, string>>;
  readonly #used = new Set<string>();

  constructor(reasons: Readonly<Record<string, string>>) {
    this.#reasons = reasons;
  }

  covers(where: string): boolean {
    const rule = Object.keys(this.#reasons).find((one) =>
      one.endsWith("*") ? where.startsWith(one.slice(0, -1)) : where === one,
    );
    if (rule !== undefined) this.#used.add(rule);
    return rule !== undefined;
  }

  unused(): readonly string[] {
    return Object.keys(this.#reasons).filter((one) => !this.#used.has(one));
  }
}
