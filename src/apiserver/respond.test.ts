import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "./testing.ts";

const isIndented = (text: string): boolean => text.startsWith("{\n  ");
const curl = { "user-agent": "curl/8.0" };

const readers: readonly (readonly [query: string, headers: Readonly<Record<string, string>>, isIndented: boolean])[] = [
  ["", {}, false],
  ["", curl, true],
  ["", { "user-agent": "Mozilla/5.0 (X11)" }, true],
  ["", { "user-agent": "Mozilla/4.0" }, false],
  ["?pretty=false", curl, false],
  ["?pretty=", curl, true],
  ["?pretty=T", {}, true],
  ["?pretty=yes", {}, false],
  ["", { accept: "application/json;pretty=1" }, true],
];

for (const [query, headers, expected] of readers)
  test(`a get${query} with ${JSON.stringify(headers)} is ${expected ? "" : "not "}indented`, async () => {
    await using s = await testServer();
    await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
    assert.equal(isIndented((await s.call("GET", `/api/v1/namespaces/a${query}`, undefined, headers)).text), expected);
  });

test("what people read is indented wherever it comes from, and says first what it is", async () => {
  await using s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  for (const path of ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/api/v1/namespaces/nothing"])
    assert.ok(isIndented((await s.call("GET", path, undefined, curl)).text), path);
  const { text } = await s.call("GET", "/api/v1/namespaces/a", undefined, curl);
  assert.match(text, /^\{\n {2}"kind": "Namespace",\n {2}"apiVersion": "v1",\n {2}"metadata": \{/);
});

test("a refusal comes in the format that was asked for, however early it is", async () => {
  await using s = await testServer({ authorizers: () => [] });
  const ask = (path: string, headers: Readonly<Record<string, string>>) => s.call("PUT", path, undefined, headers);
  const yaml = await ask("/version", { accept: "application/yaml", authorization: "Bearer wrong" });
  assert.deepEqual([yaml.code, yaml.headers?.["content-type"]], [401, "application/yaml"]);
  assert.match(yaml.text, /^reason: Unauthorized$/m);
  const none = await ask("/version", { accept: "text/html", authorization: "Bearer wrong" });
  assert.deepEqual([none.code, isIndented(none.text)], [401, true]);
});

test("nobody may keep an answer", async () => {
  await using s = await testServer();
  for (const path of [
    "/api/v1/pods",
    "/api/v1/namespaces/nothing",
    "/api",
    "/version",
    "/metrics",
    "/livez",
    "/nothing",
  ])
    assert.equal((await s.call("GET", path)).headers?.["cache-control"], "no-cache, private", path);
});

test("what is not stored has a table, too", async () => {
  await using s = await testServer({ components: [{ name: "part", check: async () => undefined }] });
  const tableOf = async (path: string) => {
    const { json } = await s.call("GET", path, undefined, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
    return [json.columnDefinitions.map(({ name }: { name: string }) => name), json.rows[0].cells];
  };
  const status = [
    ["Name", "Status", "Message", "Error"],
    ["part", "Healthy", "ok", ""],
  ];
  assert.deepEqual(await tableOf("/api/v1/componentstatuses"), status);
  assert.deepEqual(await tableOf("/api/v1/componentstatuses/part"), status);
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  await s.call("POST", "/api/v1/namespaces/a/replicationcontrollers", {
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
    },
  });
  assert.deepEqual(await tableOf("/api/v1/namespaces/a/replicationcontrollers/web/scale"), [
    ["Name", "Desired", "Available", "Age"],
    ["web", 3, 0, "0s"],
  ]);
});
