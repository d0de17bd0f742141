// The law of the tree: which layer may import which, where Node's own modules may be used, and how long files and functions may be.
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
const staticImportsOf = (text: string) =>
  [...text.matchAll(/(?:^|\n)(?:import\s+|(?:import|export)\s[^;"'=()]*?\sfrom\s+)["']([^"']+)["']/g)].map(
    (match) => match[1] as string,
  );
/** Those of `import("…")` as well, in code and in types. */
const importsOf = (text: string) => [
  ...staticImportsOf(text),
  ...[...text.matchAll(/\bimport\(\s*["']([^"']+)["']/g)].map((match) => match[1] as string),
];

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

test("an exported type has a name of its own, outside of the kinds", () => {
  const declared = files
    .filter(({ path }) => !path.startsWith("src/api/") && !isTest(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm)].map(([, name]) => ({ name, path })),
    );
  const repeated = [...Map.groupBy(declared, ({ name }) => name)].filter(([, places]) => places.length > 1);
  assert.deepEqual(
    repeated.map(([name, places]) => `${name}: ${places.map(({ path }) => path).join(", ")}`),
    [],
  );
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

test("a request is copied by requestWith, which keeps its signal", () => {
  const wrong = files.filter(
    ({ path, text }) =>
      path.startsWith("src/apiserver/") && !isTest(path) && /\{ \.\.\.(call\.)?request[ ,]/.test(text),
  );
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

/** The functions and the files above these budgets, with the reason. A new one needs a better reason than that it grew. */
const longFunctions: Readonly<Record<string, string>> = {
  "src/cluster/cluster.ts: assembleCluster": "puts all parts together, one statement for each",
  "src/client/host/https-transport.ts: httpsTransport": "one connection with its state, and the calls that share it",
  "src/observe/reasons/claim.ts: pending": "a text for each way to be stuck",
  "src/observe/reasons/job.ts: jobReason": "a text for each way to be stuck",
  "src/observe/reasons/node.ts: nodeReason": "a text for each way to be stuck",
  "src/scheduler/plugins/default-preemption.ts: defaultPreemption": "the steps of a plugin around what they share",
  "src/scheduler/plugins/dynamic-resources.ts: dynamicResources": "the steps of a plugin around what they share",
  "src/scheduler/plugins/inter-pod-affinity.ts: interPodAffinity": "the steps of a plugin around what they share",
  "src/scheduler/plugins/pod-topology-spread.ts: podTopologySpread": "the steps of a plugin around what they share",
  "src/scheduler/plugins/volume-binding.ts: volumeBinding": "the steps of a plugin around what they share",
  "src/schema/decode.ts: typeDecoder": "one case for each type",
};
const wellConnected: Readonly<Record<string, string>> = {
  "src/api/catalog.ts": "a list, one line for each kind",
  "src/apiserver/admission/list.ts": "a list, one line for each plugin",
  "src/apiserver/assembly/options.ts": "types of all that a server is made of",
  "src/apiserver/bootstrap/system-objects.ts": "a list of objects of many kinds",
  "src/apiserver/pipeline/pipeline.ts": "a list, one line for each stage",
  "src/apiserver/virtual/list.ts": "a list, one line for each resource",
  "src/cluster/alone/run-apiserver.ts": "puts a server alone together",
  "src/cluster/alone/run-kubelet.ts": "puts a kubelet alone together",
  "src/cluster/cluster.ts": "puts a cluster together",
  "src/cluster/join/run-machine.ts": "puts a machine that has joined together",
  "src/cluster/local/run.ts": "puts a cluster of this machine together",
  "src/cluster/machine/run-node.ts": "puts a node together",
  "src/controllers/garbage/collector.ts": "watches and deletes objects of all kinds",
  "src/controllers/list.ts": "a list, one line for each controller",
  "src/controllers/resourcequota/controller.ts": "counts objects of all kinds",
  "src/kubelet/host/csi/csi-storage.ts": "puts the storage drivers of a node together",
  "src/kubelet/host/machine-kubelet.ts": "puts the kubelet of a machine together",
  "src/kubelet/host/volumes/volumes.ts": "brings kinds of volumes, files, mounts and inputs of containers together",
  "src/kubelet/kubelet.ts": "puts a kubelet together",
  "src/kubelet/simulated/nodes.ts": "puts simulated kubelets together",
  "src/observe/experts.ts": "a list, one line for each kind",
  "src/serving/host/https/front.ts": "puts a server together",
  "src/scheduler/plugins/list.ts": "a list, one line for each plugin",
  "src/scheduler/framework.ts": "names the kinds whose changes plugins wait for",
  "src/scheduler/watching.ts": "follows twelve kinds",
  "src/store/host/lmdb.ts": "puts the store together",
};

test("a function fits on a screen: at most 60 lines", () => {
  const long = files.flatMap(({ path, text }) =>
    isTest(path)
      ? []
      : functionsIn(text)
          .filter(({ lines }) => lines > 60)
          .map(({ name, lines }) => ({ where: `${path}: ${name}`, lines })),
  );
  const isExcused = ({ where }: { readonly where: string }) => Object.hasOwn(longFunctions, where);
  assert.deepEqual(
    long.filter((one) => !isExcused(one)).map(({ where, lines }) => `${where} has ${lines} lines`),
    [],
  );
  const stale = Object.keys(longFunctions).filter((excuse) => !long.some(({ where }) => where === excuse));
  assert.deepEqual(stale, [], "excuses that are no longer needed");
});

test("a file knows few others: at most 20 imports", () => {
  const many = files
    .filter(({ path }) => !isTest(path))
    .map(({ path, text }) => ({ path, count: staticImportsOf(text).length }))
    .filter(({ count }) => count > 20);
  assert.deepEqual(
    many
      .filter(({ path }) => !Object.hasOwn(wellConnected, path))
      .map(({ path, count }) => `${path}: ${count} imports`),
    [],
  );
  const stale = Object.keys(wellConnected).filter((excuse) => !many.some(({ path }) => path === excuse));
  assert.deepEqual(stale, [], "excuses that are no longer needed");
});

/**
 * The functions of a file and how long they are. The formatter puts the end of each at the indentation of its beginning, so no parser is
 * needed: a function begins where a line with `function`, an arrow or a name and parameters opens a brace.
 */
function functionsIn(text: string): readonly { readonly name: string; readonly lines: number }[] {
  const lines = text.split("\n");
  const indentOf = (line: string) => line.length - line.trimStart().length;
  return lines.flatMap((line, at) => {
    if (!/\{$/.test(line)) return [];
    // Where parameters stand on lines of their own, the head is further up.
    const indent = indentOf(line);
    let first = at;
    if (/^\s*[)\]}]/.test(line)) {
      do first--;
      while (first > 0 && (indentOf(lines[first] as string) !== indent || lines[first] === ""));
    }
    const head = `${lines[first]}${first < at ? line.trim() : ""}`;
    const isFunction = /=> \(?\{$/.test(head) || /\bfunction\b.*\{$/.test(head) || method.test(head);
    if (!isFunction) return [];
    const end = lines.findIndex((other, i) => i > at && indentOf(other) === indent && /^\s*\}/.test(other));
    const name = /\b(?:function\*?|const|let) (#?\w+)/.exec(head)?.[1] ?? /^\s*(?:\w+ )*(#?\w+)[(<:]/.exec(head)?.[1];
    return [{ name: name ?? "function", lines: end - first + 1 }];
  });
}
const method =
  /^\s+(?:(?:async|static|get|set) |\*)*(?!(?:if|for|while|switch|catch|return|with)\b)#?[\w$]+(?:<.*>)?\(.*\)(?:: .+)? \{$/;

test("JSON is parsed in one place, which knows what the parser gets wrong", () => {
  // The next two read what they wrote themselves, the last what servers answer: lists too long to be looked at twice.
  const mayParse = [
    "src/schema/json.ts",
    "src/base/host/folder-lock.ts",
    "src/store/host/lmdb-holder.ts",
    "src/kubectl/rest/client.ts",
  ];
  const wrong = files.filter(
    ({ path, text }) => !isTest(path) && !mayParse.includes(path) && /\bJSON\.parse\(/.test(text),
  );
  assert.deepEqual(
    wrong.map(({ path }) => path),
    [],
  );
});
