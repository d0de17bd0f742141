import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "#base/errors.ts";
import {
  emptyKubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
  printKubeconfig,
  resolveContext,
  withAbsolutePaths,
  withEntry,
  withoutEntry,
} from "./kubeconfig.ts";

const two = `
apiVersion: v1
kind: Config
current-context: b
preferences: {colors: true}
clusters:
- name: a
  cluster: {server: "https://a", certificate-authority: ca.crt}
- name: b
  cluster: {server: "https://b:6443", extensions: [{name: x, extension: {y: 1}}]}
users:
- {name: u, user: {token: secret, tokenFile: null}}
contexts:
- {name: a, context: {cluster: a, user: u, namespace: team}}
- {name: b, context: {cluster: b}}
`;

test("a context is resolved with all it refers to", () => {
  const config = withAbsolutePaths(parseKubeconfig(two, "/x/config"), "/x");
  assert.deepEqual(resolveContext(config, "/x/config", "a"), {
    cluster: { server: "https://a", "certificate-authority": "/x/ca.crt" },
    user: { token: "secret" },
    namespace: "team",
  });
  assert.equal(resolveContext(config, "/x/config").cluster.server, "https://b:6443");
});

test("what is wrong is named with its file and field", () => {
  const table: readonly [string, RegExp][] = [
    ["a: [", /^kubeconfig f: invalid YAML/],
    ["- 1", /^kubeconfig f: expected a mapping, got a list/],
    ["kind: Pod", /kind: expected Config of v1, got Pod of v1/],
    ["current-context: 7", /current-context: expected a string, got a number/],
    ["clusters: {}", /clusters: expected a list, got a mapping/],
    ["clusters: [7]", /clusters\[0\]: expected a mapping, got a number/],
    ["clusters: [{cluster: {}}]", /clusters\[0\]\.name: is missing/],
    ["clusters: [{name: a, cluster: {server: 7}}]", /clusters\[0\]\.cluster\.server: expected a string, got a number/],
    ["users: [{name: a}, {name: b, user: []}]", /users\[1\]\.user: expected a mapping, got a list/],
    [
      "clusters: [{name: a, cluster: {insecure-skip-tls-verify: maybe}}]",
      /insecure-skip-tls-verify: expected a boolean, got a string/,
    ],
  ];
  for (const [text, message] of table)
    assert.throws(
      () => parseKubeconfig(text, "f"),
      (error) => error instanceof UsageError && message.test(error.message),
      text,
    );
  const config = parseKubeconfig(two, "f");
  for (const [broken, asked, message] of [
    [emptyKubeconfig, undefined, /f: current-context is not set/],
    [config, "c", /context "c" does not exist/],
    [{ ...config, clusters: [] }, "a", /cluster "a" of context "a" does not exist/],
    [{ ...config, clusters: [{ name: "a", cluster: {} }] }, "a", /cluster "a" has no server/],
    [{ ...config, users: [] }, "a", /user "u" of context "a" does not exist/],
  ] as const)
    assert.throws(() => resolveContext(broken, "f", asked), message);
});

test("of two entries of one name the first file's counts", () => {
  const first = parseKubeconfig("clusters: [{name: a, cluster: {server: https://first}}]", "1");
  const merged = mergeKubeconfigs([first, parseKubeconfig(two, "2")]);
  assert.deepEqual(
    merged.clusters.map(({ name, cluster }) => `${name} ${cluster.server}`),
    ["a https://first", "b https://b:6443"],
  );
  assert.equal(merged["current-context"], "b");
  assert.deepEqual(mergeKubeconfigs([]), emptyKubeconfig);
});

test("adding and removing an entry leaves the rest as it is", () => {
  const before = parseKubeconfig(two, "f");
  const added = withEntry(before, "knarr-x", { server: "https://x" }, { token: "t" });
  const reread = parseKubeconfig(printKubeconfig(added), "f");
  assert.deepEqual(reread, added);
  assert.equal(resolveContext(reread, "f").cluster.server, "https://x");
  assert.deepEqual(withoutEntry(reread, "knarr-x"), { ...before, "current-context": "" });
  assert.deepEqual(withEntry(added, "knarr-x", { server: "https://x" }, { token: "t" }), added);
});
