// Tables that are looked up by names which somebody else chose: `table[name]` answers for `constructor` and `toString`, too.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

/** Tables whose names are our own, or of a form that nothing inherited has. */
const closed: ReadonlySet<string> = new Set([
  "src/apiserver/connect/connect.ts connectors", // with a slash
  "src/apiserver/strategies/list.ts strategies", // with a slash
  "src/apiserver/subresources/list.ts handlers", // with a slash
  "src/apiserver/request-body.ts patchTypes", // one of its own keys
  "src/apiserver/registry/patching.ts goKinds", // what `typeof` says
  "src/apiserver/host/token-keys.ts curves", // of a key that OpenSSL has read
  "src/kubelet/host/machine.ts architectures", // of this machine
  "src/kubelet/runtime/sandbox-profile.ts architectures", // of this machine
]);

test("parts that answer clients look names up by own()", () => {
  const offenders: string[] = [];
  for (const file of globSync("src/{apiserver,observe,kubelet}/**/*.ts", { exclude: ["**/*.test.ts"] })) {
    const text = readFileSync(file, "utf8");
    for (const [, table = ""] of text.matchAll(/^(?:export )?const (\w+): (?:\w+<)*Record<string/gm)) {
      if (closed.has(`${file} ${table}`)) continue;
      for (const [use, key = ""] of text.matchAll(new RegExp(`(?<![\\w.])${table}\\[([^\\]]+)\\]`, "g")))
        if (!key.startsWith('"')) offenders.push(`${file}: ${use}`);
    }
  }
  assert.deepEqual(offenders, []);
});
