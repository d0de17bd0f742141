import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { defaultPlugins } from "../plugins/list.ts";
import { Scenario } from "../testing/scenario.ts";
import { loadPlugins } from "./plugin-files.ts";

function moduleWith(t: { after(run: () => void): void }, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "plugin-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "plugin.ts");
  writeFileSync(path, text);
  return path;
}

test("a plugin in TypeScript is loaded by its path, and filters and scores with its settings", async (t) => {
  const path = moduleWith(
    t,
    `interface Args { readonly hated: string }
     export default [
       { name: "Hating", make: ({ hated }: Args) => ({ name: "Hating", filter: (_pod: unknown, { name }: { name: string }) =>
           name === hated ? { reason: "node(s) are hated", stuck: true } : undefined }) },
       { name: "Liking", score: (_pod: unknown, { name }: { name: string }) => (name === "b" ? 100 : 0) },
     ];`,
  );
  const configuration = { profiles: [{ pluginConfig: [{ name: "Hating", args: { hated: "a" } }] }] };
  const cluster = new Scenario({ configuration, plugins: [...defaultPlugins, ...(await loadPlugins([path]))] });
  for (const name of ["a", "b", "c"]) cluster.node(name);
  const pod = cluster.pod();
  assert.deepEqual(cluster.refusals(pod), { a: ["node(s) are hated"] });
  assert.deepEqual(cluster.scores("Liking", pod), { a: 0, b: 100, c: 0 });
});

const wrong: readonly [string, string, RegExp][] = [
  ["has no default export", "export const x = 1;", /expected a plugin with a name/],
  ["does not load", "throw new Error('broken module');", /broken module/],
  ["does nothing", "export default { name: 'Idle' };", /plugin "Idle" takes part in nothing/],
];
for (const [what, text, message] of wrong)
  test(`a module that ${what} is refused by its path`, async (t) => {
    const path = moduleWith(t, text);
    await assert.rejects(
      loadPlugins([path]),
      (error: Error) => message.test(error.message) && error.message.includes(path),
    );
  });
