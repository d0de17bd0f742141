import { existsSync, mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder for its owner alone, and what is missing above it. Node's own way (`recursive`) calls a read-only disk a missing
 * folder, and never ends where nothing can be made, as in /proc.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  for (let at = resolve(path); !existsSync(at); at = dirname(at)) missing.unshift(at);
  for (const one of missing)
    try {
      mkdirSync(one, { mode: 0o700 });
    } catch (error) {
      if (!existsSync(one)) throw error; // another process has made it meanwhile
    }
}
