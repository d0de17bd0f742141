// Our kubectl as a program of its own, run from the sources.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

export interface OurProgram extends Disposable {
  readonly path: string;
}

/** A program named kubectl in a folder of its own, which goes with it. */
export function ourProgram(): OurProgram {
  const folder = mkdtempSync(join(tmpdir(), "knarr-kubectl-"));
  const path = join(folder, "kubectl");
  const cache = process.env.NODE_COMPILE_CACHE ?? join(folder, "compiled");
  writeFileSync(
    path,
    `#!/bin/sh\nNODE_COMPILE_CACHE='${cache}' exec '${process.execPath}' --disable-warning=ExperimentalWarning '${main}' kubectl "$@"\n`,
    { mode: 0o755 },
  );
  return { path, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}
