// The law of the tree: which layer may import which, where Node's own modules may be used, and how long a file may be.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const model = ["base", "schema", "api", "rules"];
const spine = [...model, "wire", "client"];
const layers: Readonly<Record<string, readonly string[]>> = {
  base: [],
  schema: ["base"],
  api: ["base", "schema"],
  rules: ["base", "schema", "api"],
  store: ["base"],
  wire: ["base", "schema"],
  serving: ["base", "schema", "api", "wire", "client"],
  cli: ["base"],
  client: [...model, "wire"],
  apiserver: [...spine, "store", "serving"],
  controllers: [...model, "client"],
  scheduler: [...model, "client"],
  kubelet: [...spine, "serving"],
  network: [...model, "client"],
  proxy: [...model, "client"],
  dns: [...spine, "serving"],
  ingress: [...spine, "serving"],
  "metrics-server": [...spine, "serving"],
  logging: [...spine, "serving"],
  kubectl: [...spine, "cli"],
  observe: spine,
};
/** These put everything together, and may touch the machine anywhere. */
const composition = ["cluster", "testing"];
const mayTouchNode = [...composition, "kubectl"];

const files = globSync("src/**/*.ts").map((path) => ({ path, text: readFileSync(path, "utf8") }));
const isTest = (path: string) => /\.(test|suite)\.ts$|\/testing\.ts$|\/testing\//.test(path);
const importsOf = (text: string) =>
  [...text.matchAll(/(?:^|\n)(?:import|export)\b[^;"']*?["']([^"']+)["']/g)].map((match) => match[1] as string);

test("each layer imports only the layers below it", () => {
  const wrong = files.flatMap(({ path, text }) => {
    const layer = path.split("/")[1] as string;
    if (composition.includes(layer) || layer === "main.ts") return [];
    const allowed = layers[layer];
    if (!allowed) return [`${path}: the layer ${layer} is not in the table`];
    return importsOf(text).flatMap((target) => {
      const crossed = /^#([^/]+)\//.exec(target)?.[1];
      if (crossed && crossed !== layer && !allowed.includes(crossed))
        return [`${path}: ${layer} may not import ${target}`];
      if (crossed === layer) return [`${path}: ${target} is in the same layer, import it by a relative path`];
      if (target.startsWith(".") && !new URL(target, `file:///${path}`).pathname.startsWith(`/src/${layer}/`))
        return [`${path}: ${target} leaves the layer, import it as #layer/…`];
      return [];
    });
  });
  assert.deepEqual(wrong, []);
});

test("only host folders use Node's own modules", () => {
  const wrong = files.filter(({ path, text }) => {
    const layer = path.split("/")[1] as string;
    return (
      !path.includes("/host/") &&
      !mayTouchNode.includes(layer) &&
      !isTest(path) &&
      layer !== "main.ts" &&
      importsOf(text).some((target) => target.startsWith("node:"))
    );
  });
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test("time and chance come from outside", () => {
  const wrong = files.filter(
    ({ path, text }) =>
      !path.startsWith("src/base/") &&
      !isTest(path) &&
      // A method of that name is a limit of a socket or a session, not a timer of ours.
      /\b(Date\.now\(|(?<!(?<!globalThis)\.)setTimeout\(|setInterval\(|Math\.random\(|randomUUID\()/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});

test("a file is one idea: at most 500 lines", () => {
  const long = files.filter(({ path, text }) => !isTest(path) && text.split("\n").length > 501);
  assert.deepEqual(
    long.map(({ path, text }) => `${path}: ${text.split("\n").length} lines`),
    [],
  );
});

test("JSON is parsed in one place, which knows what the parser gets wrong", () => {
  // The latter two read what they wrote themselves.
  const mayParse = ["src/schema/json.ts", "src/base/host/folder-lock.ts", "src/store/host/lmdb-holder.ts"];
  const wrong = files.filter(
    ({ path, text }) => !isTest(path) && !mayParse.includes(path) && /\bJSON\.parse\(/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});
