import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { tracesOfSources } from "./stack-traces.ts";

/** The stack of what a function throws. */
async function stackOf(fail: () => unknown): Promise<string> {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = tracesOfSources();
  try {
    await fail();
  } catch (error) {
    return (error as Error).stack ?? "";
  } finally {
    if (before) Error.prepareStackTrace = before;
    else delete (Error as Partial<typeof Error>).prepareStackTrace;
  }
  throw new Error("it did not fail");
}

test("a trace through a bundle names the lines of the sources", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-traces-"));
  try {
    const source = join(folder, "source.ts");
    writeFileSync(
      source,
      `interface Far { readonly from: string }

const thrower = (far: Far): never => {
  throw new TypeError(far.from);
};
export async function fail(): Promise<void> {
  await undefined;
  thrower({ from: "home" });
}
`,
    );
    const outfile = join(folder, "out", "bundle.mjs");
    await build({
      entryPoints: [source],
      outfile,
      bundle: true,
      format: "esm",
      sourcemap: "linked",
      banner: { js: "\n\n" },
    });
    const { fail } = (await import(pathToFileURL(outfile).href)) as { fail(): Promise<void> };
    const [first, second, third] = (await stackOf(fail)).split("\n");
    assert.equal(first, "TypeError: home");
    assert.equal(second, `    at thrower (${source}:4:9)`);
    assert.match(third ?? "", /^ {4}at (async )?fail \(.*\/source\.ts:8:3\)$/);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a trace through files without a map is as it was", async () => {
  const stack = await stackOf(() => parseInvalid());
  assert.match(stack, /^RangeError: no\n {4}at parseInvalid \(file:\/\/.*\/stack-traces\.test\.ts:\d+:\d+\)\n/);
});

function parseInvalid(): never {
  throw new RangeError("no");
}
