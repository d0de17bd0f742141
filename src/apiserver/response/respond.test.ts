import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

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

test("an answer in JSON says first what it is, is safe inside HTML, and ends with a newline unless it is indented", async () => {
  await using s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  const maps = "/api/v1/namespaces/a/configmaps";
  await s.call("POST", maps, { metadata: { name: "m" }, data: { html: "<b>&</b>" } });
  const { text } = await s.call("GET", `${maps}/m`);
  assert.match(text, /^\{"kind":"ConfigMap","apiVersion":"v1","metadata":\{/);
  assert.match(text, /"\\u003cb\\u003e\\u0026\\u003c\/b\\u003e".*\}\n$/);
  assert.match((await s.call("GET", maps)).text, /^\{"kind":"ConfigMapList".*\\u003cb.*\]\}\n$/);
  assert.match((await s.call("GET", `${maps}/m`, undefined, curl)).text, /\}$/);
});

test("every answer names its request, by the client's name for it or by one of its own", async () => {
  await using s = await testServer();
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
  const seen = new Set<unknown>();
  for (const [method, path] of [
    ["GET", "/api/v1/namespaces"],
    ["GET", "/nothing"],
    ["POST", "/api/v1/namespaces"],
    ["GET", "/healthz"],
    ["GET", "/api/v1/namespaces/a/pods/b/log"],
    ["FOO", "/api"],
  ] as const) {
    const { headers } = await s.call(method, path);
    assert.match(String(headers?.["audit-id"]), uuid, path);
    seen.add(headers?.["audit-id"]);
    assert.equal((await s.call(method, path, undefined, { "audit-id": "mine" })).headers?.["audit-id"], "mine");
  }
  assert.equal(seen.size, 6);
});

const produced = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const streamed = `${produced}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`;

test("what the router of upstream would not pass on is refused in its words, single objects and lists apart", async () => {
  await using s = await testServer();
  for (const accept of ["application/*", "text/html", "*", ";;;", "application/xml;q=0.1, text/plain"])
    for (const [path, available] of [
      ["/api/v1/namespaces", streamed],
      ["/api/v1/namespaces?watch=1", streamed],
      ["/api/v1/namespaces/none", produced],
    ]) {
      const { code, json } = await s.call("GET", path ?? "", undefined, { accept });
      const message = `406: Not Acceptable\n\nAvailable representations: ${available}`;
      assert.deepEqual([code, json.message, json.details], [406, message, {}], `${accept} ${path}`);
    }
  for (const accept of ["*/*;q=0.1", "text/html, application/yaml"])
    assert.equal((await s.call("GET", "/api/v1/namespaces", undefined, { accept })).code, 200, accept);
  for (const type of ["application/json", "text/plain", "", "nonsense", "application/merge-patch"]) {
    const { code, json } = await s.call("PATCH", "/api/v1/namespaces/a", {}, { "content-type": type });
    assert.deepEqual([code, json.message, json.details], [415, "415: Unsupported Media Type", {}], type);
  }
});

test("a write whose answer is asked for in the form of a list is refused before anything is stored", async () => {
  await using s = await testServer();
  const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
  const write = async (method: string, path: string, body: object, type = "application/json") =>
    (await s.call(method, path, body, { accept, "content-type": type })).code;
  assert.equal(await write("POST", "/api/v1/namespaces", { metadata: { name: "a" } }), 406);
  assert.equal((await s.call("GET", "/api/v1/namespaces/a")).code, 404);
  const made = await s.call("POST", "/api/v1/namespaces", { metadata: { name: "b" } });
  const labelled = { metadata: { name: "b", labels: { x: "y" } } };
  assert.equal(await write("PUT", "/api/v1/namespaces/b", labelled), 406);
  assert.equal(await write("PATCH", "/api/v1/namespaces/b", labelled, "application/merge-patch+json"), 406);
  assert.deepEqual((await s.call("GET", "/api/v1/namespaces/b")).json, made.json);
});

test("the metadata of an object is no list, and of a list no object", async () => {
  await using s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  const ask = async (path: string, kind: string) => {
    const accept = `application/json;as=${kind};g=meta.k8s.io;v=v1`;
    const { code, json } = await s.call("GET", path, undefined, { accept });
    return [code, json.message ?? json.kind];
  };
  const roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  const [one, list] = ["PartialObjectMetadata", "PartialObjectMetadataList"];
  assert.deepEqual(await ask("/api/v1/namespaces/a", one), [200, one]);
  assert.deepEqual(await ask("/api/v1/namespaces", list), [200, list]);
  assert.deepEqual(await ask("/api/v1/namespaces/a", list), [
    406,
    "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Namespace)",
  ]);
  assert.deepEqual(await ask(roles, one), [
    406,
    "you requested PartialObjectMetadata, but the requested object is a list (*rbac.ClusterRoleList)",
  ]);
});

test("a time limit must be a span of time", async () => {
  await using s = await testServer();
  const ask = async (timeout: string, path = "/api/v1/namespaces") => {
    const { code, json } = await s.call("GET", `${path}?timeout=${timeout}`);
    return [code, json?.message];
  };
  const refusal = (why: string) => [400, `invalid timeout specified in the request URL - time: ${why}`];
  assert.deepEqual(await ask("x"), refusal('invalid duration "x"'));
  assert.deepEqual(await ask("30"), refusal('missing unit in duration "30"'));
  assert.deepEqual(await ask("30", "/version"), refusal('missing unit in duration "30"'));
  for (const timeout of ["30s", "0", "1h"]) assert.equal((await ask(timeout))[0], 200, timeout);
});

test("aggregated discovery is the same for everybody, in JSON and in protobuf, and need not be sent twice", async () => {
  await using s = await testServer();
  const parameters = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  for (const type of ["application/json", "application/vnd.kubernetes.protobuf"])
    for (const path of ["/api", "/apis"]) {
      const accept = `${type};${parameters},application/json`;
      const { headers = {}, text } = await s.call("GET", path, undefined, { accept });
      assert.deepEqual([headers["content-type"], headers["cache-control"]], [`${type};${parameters}`, "public"]);
      assert.equal(text.startsWith("k8s\0"), type !== "application/json");
      const again = await s.call("GET", path, undefined, { accept, "if-none-match": String(headers.etag) });
      assert.deepEqual([again.code, again.text, again.headers?.["content-type"]], [304, "", undefined]);
    }
  const plain = await s.call("GET", "/apis", undefined, { accept: "application/json" });
  assert.deepEqual([plain.json.kind, plain.headers?.vary], ["APIGroupList", undefined]);
});

test("a body that is no object, or nothing that can be read, is refused by what looks for its kind", async () => {
  await using s = await testServer();
  const post = async (body: string, type = "application/json") =>
    (await s.call("POST", "/api/v1/namespaces", body, { "content-type": type })).json.message;
  const head = "the object provided is unrecognized (must be of type Namespace): ";
  const json = `${head}couldn't get version/kind; json parse error: `;
  const struct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
  assert.equal(await post("{"), `${json}unexpected end of JSON input ({)`);
  assert.equal(await post("[]"), `${json}json: cannot unmarshal array into Go value of type ${struct} (5b5d)`);
  assert.equal(await post('"x"'), `${json}json: cannot unmarshal string into Go value of type ${struct} (227822)`);
  assert.equal(
    await post("{}", "application/vnd.kubernetes.protobuf"),
    `${head}provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})`,
  );
  assert.equal((await s.call("POST", "/api/v1/namespaces", "null")).code, 422);
});

test("a group that is not served is no page, a version or resource of one that is served is not found", async () => {
  await using s = await testServer();
  for (const path of ["/apis/nope", "/apis/nope/v1", "/apis/extensions/v1beta1/ingresses"]) {
    const { code, text, headers } = await s.call("GET", path);
    assert.deepEqual(
      [code, text, headers?.["content-type"]],
      [404, "404 page not found\n", "text/plain; charset=utf-8"],
    );
  }
  for (const path of ["/apis/apps/v1/nopes", "/apis/apps/v9", "/apis/apps/v9/nopes", "/api/v1/nopes", "/api/v2"])
    assert.equal((await s.call("GET", path)).json.kind, "Status", path);
});

test("a list without items has none, in every form, but for metadata, of which Go has a slice that is nil", async () => {
  await using s = await testServer();
  const ask = async (query: string, accept: string) =>
    (await s.call("GET", `/api/v1/pods${query}`, undefined, { accept })).text;
  assert.match(await ask("", "application/json"), /"items":\[\]/);
  assert.match(await ask("?pretty=1", "application/json"), /"items": \[\]/);
  assert.match(await ask("", "application/yaml"), /^items: \[\]$/m);
  assert.match(await ask("", "application/json;as=Table;g=meta.k8s.io;v=v1"), /"rows":\[\]/);
  assert.match(await ask("", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"), /"items":null/);
});

/** One that is stored as it is served, one that is converted, and one that is never stored. */
const lists: readonly (readonly [path: string, kind: string])[] = [
  ["/api/v1/namespaces/a/configmaps", "ConfigMap"],
  ["/apis/events.k8s.io/v1/namespaces/a/events", "Event"],
  ["/apis/autoscaling/v1/namespaces/a/horizontalpodautoscalers", "HorizontalPodAutoscaler"],
  ["/api/v1/componentstatuses", "ComponentStatus"],
];

for (const [path, kind] of lists)
  test(`the items of a list of ${path} do not say what they are, single objects and events do`, async () => {
    await using s = await testServer({
      components: ["x", "y"].map((name) => ({ name, check: async () => undefined })),
    });
    await s.call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
    for (const name of ["x", "y"]) {
      const metadata = { name, namespace: "a" };
      await s.call("POST", "/api/v1/namespaces/a/configmaps", { metadata });
      await s.call("POST", "/api/v1/namespaces/a/events", { metadata, involvedObject: { namespace: "a" } });
      await s.call("POST", "/apis/autoscaling/v2/namespaces/a/horizontalpodautoscalers", {
        metadata,
        spec: { scaleTargetRef: { kind: "Deployment", name: "d", apiVersion: "apps/v1" }, maxReplicas: 2 },
      });
    }
    for (const query of ["", "?limit=1", "?pretty=true", "?labelSelector=!none", "?resourceVersion=0"]) {
      const { kind: listKind, items } = (await s.call("GET", path + query)).json;
      assert.equal(listKind, `${kind}List`);
      assert.ok(items.length > 0);
      for (const item of items) assert.deepEqual([item.kind, item.apiVersion], [undefined, undefined], query);
    }
    const yaml = (await s.call("GET", path, undefined, { accept: "application/yaml" })).text;
    assert.doesNotMatch(yaml, /^(- | {2})(kind|apiVersion):/m);
    const metadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    for (const item of (await s.call("GET", path, undefined, { accept: metadata })).json.items)
      assert.equal(item.kind, "PartialObjectMetadata");
    assert.equal((await s.call("GET", `${path}/x`)).json.kind, kind);
    if (kind === "ComponentStatus") return;
    const { value: event } = await (await s.watch(`${path}?watch=1`)).next();
    assert.match(JSON.stringify(event), new RegExp(`^\\{"type":"ADDED","object":\\{"kind":"${kind}","apiVersion":`));
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
