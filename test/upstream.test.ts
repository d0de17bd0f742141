// Whoever follows upstream to its next version must know which of our files follow which of its files. So every file that decides
// something as upstream does names, once and at its head, the file of Kubernetes that it follows:
//
//   // Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go.
//
// Paths are those of the kubernetes repository. KUBERNETES_SOURCE=FOLDER checks that they exist in a checkout of it.
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

/** Where behaviour is upstream's. */
const following = [
  "src/api/**/*check{s,}.ts",
  "src/api/**/checks/*.ts",
  "src/apiserver/admission/**/*.ts",
  "src/apiserver/{strategies,subresources,virtual,warnings}/**/*.ts",
  "src/controllers/**/*.ts",
  "src/kubelet/{eviction,storage-limits}.ts",
  "src/kubelet/{cgroups,images,inputs,node,pod,probes,static-pods}/*.ts",
  "src/kubelet/host/volumes/kinds/*.ts",
  "src/proxy/modes/**/*.ts",
  "src/rules/**/*.ts",
  "src/scheduler/plugins/*.ts",
];

/** Files there that follow nothing of upstream's, with the reason. */
const ours: Readonly<Record<string, string>> = {
  "src/api/core/v1/checks/problems.ts": "how our checks note what is wrong",
  "src/apiserver/admission/initial-resources/usage-history.ts": "upstream asked a database",
  "src/apiserver/admission/initial-resources/usage-sampler.ts": "upstream asked a database",
  "src/apiserver/admission/initializers.ts": "upstream has had no initializers since v1.14",
  "src/apiserver/admission/policy/policy-run.ts": "what the policies of one request share here",
  "src/apiserver/admission/security-context-deny.ts": "upstream has had no such plugin since v1.30",
  "src/apiserver/admission/server.ts": "what our plugins see of our server",
  "src/apiserver/admission/webhook/per-server.ts": "our plugins are made before the server is",
  "src/apiserver/strategies/service/holdings.ts": "upstream stores which addresses are taken; we look at the services",
  "src/apiserver/subresources/part.ts": "the strategy of the kind decides",
  "src/apiserver/subresources/sent-object.ts": "how our subresources decode and admit",
  "src/apiserver/virtual/review.ts": "how our reviews decode and respond",
  "src/controllers/cronjob/zone.ts": "time zones as the platform knows them",
  "src/controllers/local-storage/local-provisioner.ts":
    "follows the library of external provisioners, which is another repository",
  "src/controllers/local-storage/local-resizer.ts": "follows the external resizer, which is another repository",
  "src/controllers/local-storage/local-volumes.ts": "volumes of our own provisioner",
  "src/controllers/local-storage/node-storage.ts": "storage of our own nodes",
  "src/controllers/machines/left-nodes.ts": "machines that joined by our own command",
  "src/controllers/machines/serving-approving.ts": "upstream leaves such approvals to people",
  "src/controllers/pods-by-label.ts": "an index of our cache",
  "src/controllers/pods.ts": "indexes of our cache",
  "src/controllers/resourcequota/charges.ts": "our counts are exact, upstream's are repaired later",
  "src/controllers/service-lb/allocation.ts": "upstream leaves addresses to providers of clouds",
  "src/controllers/service-lb/pool.ts": "upstream leaves addresses to providers of clouds",
  "src/controllers/volumes/claims-of-pods.ts": "an index of our cache",
  "src/kubelet/cgroups/tree.ts": "several nodes of a machine share its groups",
  "src/kubelet/inputs/api-sources.ts": "how our parts reach the API",
  "src/kubelet/inputs/references.ts": "which objects our watches are for",
  "src/kubelet/inputs/sources.ts": "types only",
  "src/kubelet/node/node-agents.ts": "thousands of nodes with one timer",
  "src/kubelet/pod/view.ts": "types only",
  "src/kubelet/probes/probes.ts": "types only",
  "src/proxy/modes/nftables/service-table.ts": "services are elements of maps, which upstream's are not",
  "src/rules/conditions.ts": "how a condition is found in a list",
  "src/rules/services.ts": "names and keys only",
};

/** A list says which files there are; each of them has its own line. */
const isList = (path: string) => path.endsWith("/list.ts");
const isTest = (path: string) => /\.(test|suite)\.ts$|\/testing\.ts$|\/testing\//.test(path);
const files = [...new Set(following.flatMap((pattern) => globSync(pattern)))].filter(
  (path) => !isTest(path) && !isList(path),
);

const headOf = (path: string) => /^(?:\/\/.*\n)*/.exec(readFileSync(path, "utf8"))?.[0] ?? "";
/** The files that the line at the head of a file names. It may go on in the lines below it. */
function upstreamOf(path: string): readonly string[] {
  const [, line = ""] = /^\/\/ Upstream: ((?:.*\n\/\/ )*?.*\.)$/m.exec(headOf(path)) ?? [];
  return [...line.matchAll(/(?:^|\s)((?:pkg|plugin|cmd|staging|vendor)\/[\w./-]+\.go)\b/g)].map(
    ([, name = ""]) => name,
  );
}

test("files that follow upstream's behaviour name the upstream file", () => {
  const silent = files.filter((path) => upstreamOf(path).length === 0);
  assert.deepEqual(
    silent.filter((path) => !Object.hasOwn(ours, path)),
    [],
    "add a line `// Upstream: pkg/….go.` at the head, or a reason to `ours`",
  );
  const stale = Object.keys(ours).filter((path) => !silent.includes(path));
  assert.deepEqual(stale, [], "reasons that are no longer needed");
});

const source = process.env.KUBERNETES_SOURCE;
test("the upstream files exist", { skip: source ? false : "KUBERNETES_SOURCE names no checkout" }, () => {
  const missing = globSync("src/**/*.ts")
    .flatMap((path) => upstreamOf(path).map((name) => ({ path, name })))
    .filter(({ name }) => !existsSync(join(source ?? "", name)));
  assert.deepEqual(missing, []);
});
