import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Informer } from "#client/informer.ts";
import type { ApiObject } from "#schema/object.ts";
import { testServer, testUser } from "./testing.ts";

const pod = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...more },
  spec: { containers: [{ name: "c", image: "nginx" }] },
});
const configMap = (name: string, data: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});
const pods = "/api/v1/namespaces/default/pods";
const configMaps = "/api/v1/namespaces/default/configmaps";
const names = (list: ApiObject) => list.items.map((item: ApiObject) => item.metadata.name);

test("a created object gets its identity from the server", async () => {
  await using s = await testServer();
  const { code, json } = await s.call("POST", pods, { ...pod("web"), status: { phase: "Running" } });
  assert.equal(code, 201);
  const { uid, resourceVersion, creationTimestamp, generation, namespace } = json.metadata;
  assert.match(uid as string, /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    [resourceVersion, creationTimestamp, generation, namespace],
    ["2", "2026-01-01T00:00:00Z", 1, "default"],
  );
  assert.deepEqual(
    [json.status, json.spec.restartPolicy, json.spec.containers[0].imagePullPolicy],
    [{ phase: "Pending", qosClass: "BestEffort" }, "Always", "Always"],
  );
  assert.deepEqual((await s.call("GET", `${pods}/web`)).json, json);
});

test("refusals have upstream's codes, reasons and texts", async () => {
  await using s = await testServer();
  await s.call("POST", pods, pod("web"));
  const table: readonly [string, string, unknown, number, string, string][] = [
    ["GET", `${pods}/nope`, undefined, 404, "NotFound", 'pods "nope" not found'],
    [
      "GET",
      "/apis/apps/v1/namespaces/default/deployments/nope",
      undefined,
      404,
      "NotFound",
      'deployments.apps "nope" not found',
    ],
    ["POST", pods, pod("web"), 409, "AlreadyExists", 'pods "web" already exists'],
    ["POST", pods, { ...pod("x"), spec: {} }, 422, "Invalid", 'Pod "x" is invalid: spec.containers: Required value'],
    [
      "PUT",
      `${pods}/web`,
      pod("web", { resourceVersion: "1" }),
      409,
      "Conflict",
      'Operation cannot be fulfilled on pods "web": the object has been modified; please apply your changes to the latest version and try again',
    ],
    [
      "PUT",
      `${pods}/web`,
      pod("other"),
      400,
      "BadRequest",
      "the name of the object (other) does not match the name on the URL (web)",
    ],
    [
      "POST",
      pods,
      pod("x", { namespace: "elsewhere" }),
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    [
      "POST",
      pods,
      configMap("x"),
      400,
      "BadRequest",
      'ConfigMap in version "v1" cannot be handled as a Pod: converting (v1.ConfigMap) to (core.Pod): unknown conversion',
    ],
    [
      "POST",
      pods,
      '{"spec":{"containers":7}}',
      400,
      "BadRequest",
      'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field PodSpec.spec.containers of type []v1.Container',
    ],
    [
      "GET",
      "/api/v1/namespaces/default/nonsense",
      undefined,
      404,
      "NotFound",
      "the server could not find the requested resource",
    ],
    [
      "DELETE",
      "/api/v1/namespaces",
      undefined,
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
    ],
    ["GET", `${pods}?labelSelector=a=b=c`, undefined, 400, "BadRequest", ""],
    ["GET", `${pods}?fieldSelector=spec.image=x`, undefined, 400, "BadRequest", ""],
    [
      "GET",
      `${pods}?resourceVersionMatch=Exact`,
      undefined,
      422,
      "Invalid",
      'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    ],
    ["GET", `${pods}?limit=1&continue=AAAA`, undefined, 400, "BadRequest", ""],
  ];
  for (const [method, path, body, code, reason, message] of table) {
    const answer = await s.call(method, path, body);
    assert.deepEqual(
      [answer.code, answer.json.kind, answer.json.reason],
      [code, "Status", reason],
      `${method} ${path}: ${answer.text}`,
    );
    if (message !== "") assert.equal(answer.json.message, message);
  }
});

test("a generated name is drawn again when it is taken, and given up after eight tries", async () => {
  await using s = await testServer();
  const { json } = await s.call("POST", pods, { ...pod(""), metadata: { generateName: "web-" } });
  assert.match(json.metadata.name as string, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
});

test("an update that changes nothing writes nothing", async () => {
  await using s = await testServer();
  const { json } = await s.call("POST", configMaps, configMap("a", { k: "v" }));
  const again = await s.call("PUT", `${configMaps}/a`, configMap("a", { k: "v" }));
  assert.equal(again.json.metadata.resourceVersion, json.metadata.resourceVersion);
});

test("a status update changes the status alone, an update of the object all but the status", async () => {
  await using s = await testServer();
  const deployments = "/apis/apps/v1/namespaces/default/deployments";
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "nginx" }] } };
  const { json } = await s.call("POST", deployments, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: { selector: { matchLabels: { app: "web" } }, template },
  });
  const status = await s.call("PUT", `${deployments}/web/status`, {
    ...json,
    spec: { ...json.spec, replicas: 9 },
    status: { replicas: 1, observedGeneration: 1 },
  });
  assert.deepEqual(
    [status.json.spec.replicas, status.json.status.replicas, status.json.metadata.generation],
    [1, 1, 1],
  );
  const { resourceVersion: _, ...metadata } = status.json.metadata;
  const object = await s.call("PUT", `${deployments}/web`, {
    ...status.json,
    metadata,
    spec: { ...json.spec, replicas: 2 },
    status: { replicas: 7 },
  });
  assert.deepEqual(
    [object.json.spec.replicas, object.json.status.replicas, object.json.metadata.generation],
    [2, 1, 2],
  );
});

test("patches of each type do what they say", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a", { one: "1", two: "2" }));
  const patch = (type: string, body: unknown) => s.call("PATCH", `${configMaps}/a`, body, { "content-type": type });
  assert.deepEqual((await patch("application/merge-patch+json", { data: { one: null, three: "3" } })).json.data, {
    two: "2",
    three: "3",
  });
  assert.deepEqual(
    (await patch("application/json-patch+json", [{ op: "replace", path: "/data/two", value: "II" }])).json.data,
    { two: "II", three: "3" },
  );
  assert.deepEqual(
    (await patch("application/strategic-merge-patch+json", { data: { $patch: "replace", four: "4" } })).json.data,
    { four: "4" },
  );
  const refused = await patch("text/plain", "{}");
  assert.deepEqual([refused.code, refused.json.reason], [415, "UnsupportedMediaType"]);
  const missing = await s.call("PATCH", `${configMaps}/nope`, {}, { "content-type": "application/merge-patch+json" });
  assert.equal(missing.code, 404);
});

test("server-side apply creates, owns, conflicts and yields to force", async () => {
  await using s = await testServer();
  const apply = (manager: string, data: object, force = false) =>
    s.call("PATCH", `${configMaps}/a?fieldManager=${manager}${force ? "&force=true" : ""}`, configMap("a", data), {
      "content-type": "application/apply-patch+yaml",
    });
  assert.equal((await apply("one", { k: "1" })).code, 201);
  const conflict = await apply("two", { k: "2" });
  assert.deepEqual([conflict.code, conflict.json.details.causes[0].reason], [409, "FieldManagerConflict"]);
  assert.deepEqual((await apply("two", { k: "2" }, true)).json.data, { k: "2" });
  assert.equal((await apply("one", {})).json.data.k, "2");
});

test("sixteen writers of one object all get through", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a"));
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) =>
      s.call(
        "PATCH",
        `${configMaps}/a`,
        { data: { [`k${i}`]: "v" } },
        { "content-type": "application/merge-patch+json" },
      ),
    ),
  );
  assert.deepEqual([...new Set(answers.map(({ code }) => code))], [200]);
  assert.equal(Object.keys((await s.call("GET", `${configMaps}/a`)).json.data).length, 16);
});

test("pages of a list belong to one moment, whatever happens in between", async () => {
  await using s = await testServer();
  for (const name of ["a", "b", "c", "d", "e"]) await s.call("POST", configMaps, configMap(name));
  const first = (await s.call("GET", `${configMaps}?limit=2`)).json;
  assert.deepEqual([names(first), first.metadata.remainingItemCount], [["a", "b"], 3]);
  await s.call("DELETE", `${configMaps}/c`);
  await s.call("POST", configMaps, configMap("cc"));
  const second = (await s.call("GET", `${configMaps}?limit=2&continue=${first.metadata.continue}`)).json;
  const third = (await s.call("GET", `${configMaps}?limit=2&continue=${second.metadata.continue}`)).json;
  assert.deepEqual([names(second), names(third), third.metadata.continue], [["c", "d"], ["e"], undefined]);
  assert.deepEqual(names((await s.call("GET", configMaps)).json), ["a", "b", "cc", "d", "e"]);
});

test("lists can be narrowed by labels, fields and namespace", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a", {}, { labels: { app: "web" } }));
  await s.call("POST", "/api/v1/namespaces/other/configmaps", configMap("b", {}, { labels: { app: "web" } }));
  await s.call("POST", configMaps, configMap("c"));
  const list = async (query: string, path = "/api/v1/configmaps") =>
    names((await s.call("GET", `${path}?${query}`)).json);
  assert.deepEqual(await list("labelSelector=app%3Dweb"), ["a", "b"]);
  assert.deepEqual(await list("labelSelector=!app"), ["c"]);
  assert.deepEqual(await list("fieldSelector=metadata.name%3Db"), ["b"]);
  assert.deepEqual(await list("fieldSelector=metadata.name%3Db", configMaps), []);
  assert.deepEqual(await list("fieldSelector=metadata.namespace%21%3Ddefault"), ["b"]);
});

test("a watch shows each change once, and what starts or stops to match as added or deleted", async () => {
  await using s = await testServer();
  const { json } = await s.call("POST", configMaps, configMap("a", {}, { labels: { app: "web" } }));
  const events = await s.watch(
    `${configMaps}?watch=true&labelSelector=app%3Dweb&resourceVersion=${json.metadata.resourceVersion}`,
  );
  const relabel = (app: string | null) =>
    s.call(
      "PATCH",
      `${configMaps}/a`,
      { metadata: { labels: { app } } },
      { "content-type": "application/merge-patch+json" },
    );
  await relabel(null);
  await s.call("POST", configMaps, configMap("unseen"));
  const back = await relabel("web");
  const gone = await s.call("DELETE", `${configMaps}/a`);
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push((await events.next()).value);
  assert.deepEqual(
    seen.map(({ type, object }) => `${type} ${object.metadata.name}`),
    ["DELETED a", "ADDED a", "DELETED a"],
  );
  assert.equal(seen[1].object.metadata.resourceVersion, back.json.metadata.resourceVersion);
  assert.equal(gone.json.status, "Success");
});

test("a watch from now on starts with what is there, and marks the end of it when asked", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a"));
  await s.call("POST", configMaps, configMap("b"));
  const plain = await s.watch(`${configMaps}?watch=true`);
  assert.deepEqual(
    [(await plain.next()).value.object.metadata.name, (await plain.next()).value.object.metadata.name],
    ["a", "b"],
  );
  const marked = await s.watch(
    `${configMaps}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  );
  const types = [];
  for (let i = 0; i < 3; i++) types.push((await marked.next()).value);
  assert.deepEqual(
    types.map(({ type }) => type),
    ["ADDED", "ADDED", "BOOKMARK"],
  );
  assert.equal(types[2].object.metadata.annotations["k8s.io/initial-events-end"], "true");
});

test("a watch from what is forgotten begins, and ends with an event that makes clients list again", async () => {
  await using s = await testServer();
  for (const name of ["a", "b", "c"]) await s.call("POST", configMaps, configMap(name));
  await s.store.compact(await s.store.revision());
  await using restarted = await testServer({ store: s.store });
  const events = await restarted.watch(`${configMaps}?watch=true&resourceVersion=1`);
  const { value } = await events.next();
  assert.deepEqual([value.type, value.object.code, value.object.reason], ["ERROR", 410, "Expired"]);
  assert.match(value.object.message, /^too old resource version: 1 \(\d+\)$/);
  assert.equal((await events.next()).done, true);
});

test("a quiet watch gets a bookmark every minute", async () => {
  await using s = await testServer();
  const events = await s.watch(`${configMaps}?watch=true&resourceVersion=1&allowWatchBookmarks=true`);
  const next = events.next();
  await s.clock.advance(60_000);
  assert.equal((await next).value.type, "BOOKMARK");
});

test("a watch ends after the time asked for", async () => {
  await using s = await testServer();
  const events = await s.watch(`${configMaps}?watch=true&resourceVersion=1&timeoutSeconds=5`);
  const next = events.next();
  await s.clock.advance(5_000);
  assert.equal((await next).done, true);
});

test("an object with finalizers stays until they are gone", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a", {}, { finalizers: ["example.com/wait"] }));
  const deleting = await s.call("DELETE", `${configMaps}/a`);
  assert.equal(deleting.json.metadata.deletionTimestamp, "2026-01-01T00:00:00Z");
  const refused = await s.call(
    "PATCH",
    `${configMaps}/a`,
    { metadata: { finalizers: ["example.com/wait", "example.com/more"] } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal(refused.code, 422);
  await s.call(
    "PATCH",
    `${configMaps}/a`,
    { metadata: { finalizers: null } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal((await s.call("GET", `${configMaps}/a`)).code, 404);
});

test("a pod on a node is given time to end; one without is gone at once", async () => {
  await using s = await testServer();
  await s.call("POST", pods, pod("waiting"));
  assert.equal((await s.call("DELETE", `${pods}/waiting`)).code, 200);
  assert.equal((await s.call("GET", `${pods}/waiting`)).code, 404);

  await s.call("POST", pods, pod("placed"));
  const bound = await s.call("POST", `${pods}/placed/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "placed" },
    target: { kind: "Node", name: "n1" },
  });
  assert.equal(bound.code, 201, bound.text);
  const again = await s.call("POST", `${pods}/placed/binding`, {
    metadata: { name: "placed" },
    target: { kind: "Node", name: "n2" },
  });
  assert.equal(
    again.json.message,
    'Operation cannot be fulfilled on pods/binding "placed": pod placed is already assigned to node "n1"',
  );
  const { json } = await s.call("DELETE", `${pods}/placed`);
  assert.deepEqual(
    [json.metadata.deletionTimestamp, json.metadata.deletionGracePeriodSeconds],
    ["2026-01-01T00:00:30Z", 30],
  );
  const shorter = await s.call("DELETE", `${pods}/placed`, { gracePeriodSeconds: 5 });
  assert.deepEqual(
    [shorter.json.metadata.deletionTimestamp, shorter.json.metadata.deletionGracePeriodSeconds],
    ["2026-01-01T00:00:05Z", 5],
  );
  await s.call("DELETE", `${pods}/placed?gracePeriodSeconds=0`);
  assert.equal((await s.call("GET", `${pods}/placed`)).code, 404);
});

test("propagation becomes a finalizer for the garbage collector", async () => {
  await using s = await testServer();
  for (const [policy, finalizer] of [
    ["Foreground", "foregroundDeletion"],
    ["Orphan", "orphan"],
  ] as const) {
    await s.call("POST", configMaps, configMap("a"));
    const { json } = await s.call("DELETE", `${configMaps}/a?propagationPolicy=${policy}`);
    assert.deepEqual(json.metadata.finalizers, [finalizer]);
    await s.call(
      "PATCH",
      `${configMaps}/a`,
      { metadata: { finalizers: null } },
      { "content-type": "application/merge-patch+json" },
    );
  }
});

test("preconditions protect from deleting another object of the same name", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a"));
  const refused = await s.call("DELETE", `${configMaps}/a`, { preconditions: { uid: "other" } });
  assert.deepEqual([refused.code, refused.json.reason], [409, "Conflict"]);
});

test("a dry run answers as if, and writes nothing", async () => {
  await using s = await testServer();
  const { code, json } = await s.call("POST", `${configMaps}?dryRun=All`, configMap("a"));
  assert.deepEqual([code, "resourceVersion" in json.metadata, "uid" in json.metadata], [201, false, true]);
  assert.equal((await s.call("GET", `${configMaps}/a`)).code, 404);
  const { resourceVersion } = (await s.call("POST", configMaps, configMap("a"))).json.metadata;
  const changed = await s.call("PUT", `${configMaps}/a?dryRun=All`, { ...configMap("a"), data: { x: "y" } });
  assert.deepEqual([changed.json.data, changed.json.metadata.resourceVersion], [{ x: "y" }, resourceVersion]);
  assert.equal((await s.call("DELETE", `${configMaps}/a?dryRun=All`)).code, 200);
  assert.equal((await s.call("GET", `${configMaps}/a`)).code, 200);
});

test("unknown fields warn, or are refused, or pass, as the client wishes", async () => {
  await using s = await testServer();
  const odd = { ...configMap("a"), dta: {} };
  const warned = await s.call("POST", `${configMaps}?dryRun=All`, odd);
  assert.deepEqual(warned.headers?.warning, ['299 - "unknown field \\"dta\\""']);
  const strict = await s.call("POST", `${configMaps}?dryRun=All&fieldValidation=Strict`, odd);
  assert.equal(
    strict.json.message,
    'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
  );
  assert.equal(
    (await s.call("POST", `${configMaps}?dryRun=All&fieldValidation=Ignore`, odd)).headers?.warning,
    undefined,
  );
});

test("a namespace stays, terminating, until it is finalized", async () => {
  await using s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "demo" } });
  const { json } = await s.call("DELETE", "/api/v1/namespaces/demo");
  assert.deepEqual([json.status.phase, json.spec.finalizers], ["Terminating", ["kubernetes"]]);
  await s.call("PUT", "/api/v1/namespaces/demo/finalize", { ...json, spec: {} });
  assert.equal((await s.call("GET", "/api/v1/namespaces/demo")).code, 404);
});

test("scale reads and sets the size of whatever has one", async () => {
  await using s = await testServer();
  const path = "/apis/apps/v1/namespaces/default/replicasets";
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "nginx" }] } };
  await s.call("POST", path, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web" },
    spec: { selector: { matchLabels: { app: "web" } }, template },
  });
  const { json } = await s.call("GET", `${path}/web/scale`);
  assert.deepEqual(
    [json.kind, json.spec, json.status],
    ["Scale", { replicas: 1 }, { replicas: 0, selector: "app=web" }],
  );
  await s.call(
    "PATCH",
    `${path}/web/scale`,
    { spec: { replicas: 4 } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal((await s.call("GET", `${path}/web`)).json.spec.replicas, 4);
  const refused = await s.call(
    "PATCH",
    `${path}/web/scale`,
    { spec: { replicas: -1 } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.equal(refused.code, 422);
});

test("an autoscaler is one object in two versions", async () => {
  await using s = await testServer();
  const spec = {
    maxReplicas: 5,
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
    targetCPUUtilizationPercentage: 70,
  };
  const v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const created = await s.call("POST", v1, {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "web" },
    spec,
  });
  assert.equal(created.code, 201, created.text);
  const { json } = await s.call("GET", `${v1.replace("v1", "v2")}/web`);
  assert.deepEqual([json.apiVersion, json.spec.metrics[0].resource.target.averageUtilization], ["autoscaling/v2", 70]);
  assert.equal((await s.call("GET", `${v1}/web`)).json.spec.targetCPUUtilizationPercentage, 70);
});

test("tables have the columns kubectl shows", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a", { k: "v" }));
  const { json } = await s.call("GET", configMaps, undefined, {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
  });
  assert.deepEqual(
    [json.kind, json.columnDefinitions.map(({ name }: { name: string }) => name), json.rows[0].cells],
    ["Table", ["Name", "Data", "Age"], ["a", 1, "0s"]],
  );
});

test("paths besides resources answer", async () => {
  await using s = await testServer();
  assert.equal((await s.call("GET", "/healthz")).text, "ok");
  assert.match((await s.call("GET", "/readyz?verbose")).text, /\[\+\]etcd ok\n(\[\+\].* ok\n)+readyz check passed\n/);
  assert.equal((await s.call("GET", "/readyz/poststarthook/rbac/bootstrap-roles")).code, 200);
  assert.equal((await s.call("GET", "/version")).json.gitVersion, "v1.36.4");
  assert.deepEqual((await s.call("GET", "/api")).json.versions, ["v1"]);
  assert.ok((await s.call("GET", "/apis")).json.groups.some(({ name }: { name: string }) => name === "apps"));
  assert.ok((await s.call("GET", "/openapi/v3")).json.paths["apis/apps/v1"]);
  assert.equal((await s.call("GET", "/nope")).code, 404);
  const { etag } = (await s.call("GET", "/openapi/v2")).headers as { etag: string };
  assert.equal((await s.call("GET", "/openapi/v2", undefined, { "if-none-match": etag })).code, 304);
});

test("paths that climb or are wrongly escaped are refused", async () => {
  await using s = await testServer();
  for (const path of [
    `${pods}/..`,
    `${pods}/%2e%2e`,
    `${pods}/%zz`,
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/../pods",
    "/api/v1/namespaces/default%2f..%2fkube-system/secrets",
    `${pods}//`,
    "/apis//v1/pods",
    `${pods}/%00`,
  ]) {
    const { code } = await s.call("GET", path);
    assert.equal(code, 400, path);
  }
  for (const path of [
    `${pods}/a%2fb`,
    "//api/v1/pods",
    "/api//v1/pods",
    "/healthz/../api/v1/pods",
    "/%2e%2e/api",
    "/api%2fv1/pods",
    "//",
  ]) {
    const { code } = await s.call("GET", path);
    assert.equal(code, 404, path);
  }
});

test("who may see one path may not see another by way of it", async () => {
  await using s = await testServer({
    users: { bob: { name: "bob", groups: [] } },
    authorizers: () => [
      (question) => ({ decision: question.type === "path" && question.path.startsWith("/healthz") ? "allow" : "none" }),
    ],
  });
  const table: readonly [string, number][] = [
    ["/healthz", 200],
    ["/healthz/../api/v1/pods", 404],
    ["/healthz/..%2f..%2fapi", 404],
    ["//api/v1/pods", 403],
    ["/api/v1//pods", 400],
    ["/api/v1/namespaces/a%2fb/pods", 400],
    ["/api/v1/pods", 403],
    ["/api/v1/pods/", 403],
  ];
  for (const [path, expected] of table) {
    const { code } = await s.call("GET", path, undefined, { authorization: "Bearer bob" });
    assert.equal(code, expected, path);
  }
});

test("an empty list of managed fields makes the server forget who owned what", async () => {
  await using s = await testServer();
  const { json } = await s.call("POST", configMaps, configMap("a", { k: "v" }));
  assert.equal(json.metadata.managedFields?.[0]?.manager, "test");
  const reset = await s.call("PUT", `${configMaps}/a`, configMap("a", { k: "v" }, { managedFields: [] }));
  assert.equal(reset.json.metadata.managedFields, undefined);
});

test("a watch speaks the version it was asked in", async () => {
  await using s = await testServer();
  const v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const spec = { maxReplicas: 5, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } };
  await s.call("POST", v1, {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    metadata: { name: "a" },
    spec,
  });
  for (const version of ["v1", "v2"]) {
    const events = await s.watch(`${v1.replace("v1", version)}?watch=true`);
    assert.equal((await events.next()).value.object.apiVersion, `autoscaling/${version}`);
  }
});

test("a scheduler of the same process tells what it said of each node", async () => {
  const attempt = { at: 0, message: "0/1 nodes are available", nodes: 1, verdicts: [] };
  await using s = await testServer({ schedulingOf: ({ name }) => (name === "web" ? attempt : undefined) });
  const path = "/knarr/v1/scheduling";
  assert.deepEqual((await s.call("GET", `${path}?namespace=default&name=web`)).json, { attempt });
  assert.deepEqual((await s.call("GET", `${path}?namespace=default&name=other`)).json, {});
  assert.equal((await s.call("GET", `${path}?name=web`)).code, 400);
  assert.equal((await s.call("GET", `${path}/web?namespace=default&name=web`)).code, 404);
  await using alone = await testServer();
  assert.equal((await alone.call("GET", `${path}?namespace=default&name=web`)).code, 404);
});

test("every write can be traced: who, what, why, and where the time went", async () => {
  await using s = await testServer();
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const cause = await s.call("POST", configMaps, configMap("cause"), { traceparent });
  assert.match(String(cause.headers?.traceparent), /^00-4bf92f3577b34da6a3ce929d0e0e4736-[0-9a-f]{16}-01$/);
  const because = `configmaps/default/cause@${cause.json.metadata.resourceVersion}`;
  await s.call("POST", configMaps, configMap("effect"), { "knarr-because": because, "user-agent": "controller/1" });
  await s.call("POST", configMaps, configMap("stranger"));
  await s.call("DELETE", `${configMaps}/cause`);

  const { writes } = (await s.call("GET", "/knarr/v1/trace?resource=configmaps&namespace=default&name=effect")).json;
  assert.deepEqual(
    writes.map(
      ({ verb, name, user, userAgent }: Record<string, string>) => `${verb} ${name} by ${user} with ${userAgent}`,
    ),
    ["create cause by tester with test/1", "create effect by tester with controller/1"],
  );
  assert.deepEqual(Object.keys(writes[0].stages), ["identify", "authorize", "read", "admit", "validate", "store"]);
  const ofRequest = await s.call("GET", "/knarr/v1/trace/4bf92f3577b34da6a3ce929d0e0e4736");
  assert.deepEqual(
    ofRequest.json.writes.map(({ name }: { name: string }) => name),
    ["cause"],
  );
  const ofCause = await s.call("GET", "/knarr/v1/trace?resource=configmaps&namespace=default&name=cause");
  assert.deepEqual(
    ofCause.json.writes.map(({ verb, name }: Record<string, string>) => `${verb} ${name}`),
    ["create cause", "create effect", "delete cause"],
  );
  assert.equal((await s.call("GET", "/knarr/v1/trace")).code, 400);
});

test("a name that is too long to be kept is refused", async () => {
  await using s = await testServer();
  const roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
  const { code, json } = await s.call("POST", roles, { metadata: { name: "x".repeat(70_000) } });
  assert.equal(code, 422);
  assert.match(JSON.stringify(json.details), /"field":"metadata.name"/);
  assert.equal((await s.call("POST", roles, { metadata: { name: "x".repeat(1000) } })).code, 201);
});

test("objects that informers of this process hold are answered with the bytes that they were written with", async () => {
  await using s = await testServer();
  for (const name of ["a", "b", "c"])
    await s.call(
      "POST",
      configMaps,
      configMap(name, { "10": "x", "9": "y", word: "ü" }, { labels: { "2": "b", "1": "a" } }),
    );
  const answers = async () => {
    const paths = [`${configMaps}/a`, `${configMaps}/b`, configMaps, `${configMaps}?limit=2`];
    const texts = await Promise.all(paths.map(async (path) => (await s.call("GET", path)).text));
    return texts.map((text) => text.replace(/"metadata":\{"resourceVersion":"\d+"[^{]*\},"items"/, "")); // of the list
  };
  const before = await answers();

  const stop = new AbortController();
  const { signal } = stop;
  const client = new Client({ transport: s.server.request, user: testUser, userAgent: "informer/1", signal });
  const context = { client, clock: s.clock, random: seededRandom(1), log: silentLog };
  const informer = new Informer(ConfigMap, context);
  const running = informer.run(signal);
  await informer.synced(signal);
  for (let i = 0; i < 3; i++) {
    await s.clock.advance(20_000);
    await s.call("POST", pods, pod(`web-${i}`));
    assert.deepEqual(await answers(), before);
  }
  assert.deepEqual((await s.call("DELETE", `${configMaps}/c`)).json.status, "Success");
  stop.abort(new Error("done"));
  await assert.rejects(running, /done/);
});

test("refusals of authorization and plain texts forbid guessing their type, other answers do not", async () => {
  await using s = await testServer({
    users: { joe: { name: "joe", groups: ["system:authenticated"] } },
    authorizers: () => [({ user }) => (user.name === "joe" ? { decision: "none" } : { decision: "allow" })],
  });
  const joe = { authorization: "Bearer joe" };
  const pods = "/api/v1/namespaces/default/pods";
  const headersOf = async (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") => {
    const { code, headers: sent = {} } = await s.call(method, path, undefined, headers);
    return `${code} ${sent["x-content-type-options"] ?? "-"} ${sent["cache-control"]} ${sent["www-authenticate"] ?? "-"}`;
  };
  for (const [expected, ...asked] of [
    ["403 nosniff no-cache, private -", pods, joe],
    ["403 nosniff no-cache, private -", `${pods}/p/exec?command=x`, joe],
    ["403 nosniff no-cache, private -", "/metrics", joe],
    ["400 nosniff no-cache, private -", pods, { ...joe, "impersonate-group": "x" }],
    ["401 - no-cache, private -", pods, { authorization: "Bearer nobody" }],
    ["200 - no-cache, private -", pods],
    ["404 - no-cache, private -", `${pods}/p`],
    ["404 nosniff no-cache, private -", "/nowhere"],
    ["200 nosniff no-cache, private -", "/healthz"],
    ["200 - no-cache, private -", "/livez/ping"],
  ] as const)
    assert.equal(await headersOf(asked[0], asked[1]), expected, asked[0]);
});

test("a deleted object can be read in the past for five minutes, and no longer", async () => {
  await using s = await testServer();
  const secrets = "/api/v1/namespaces/default/secrets";
  const { json } = await s.call("POST", secrets, { metadata: { name: "crown" }, stringData: { k: "jewels" } });
  await s.call("DELETE", `${secrets}/crown`);
  const past = `${secrets}?resourceVersion=${json.metadata.resourceVersion}&resourceVersionMatch=Exact`;
  assert.deepEqual((await s.call("GET", past)).json.items.length, 1);
  await s.clock.advance(330_000);
  const late = await s.call("GET", past);
  assert.deepEqual([late.code, late.json.reason], [410, "Expired"]);
});

test("what a client says it acted on is believed of parts of the cluster only", async () => {
  const users = {
    joe: { name: "joe", groups: ["system:authenticated"] },
    manager: { name: "system:kube-controller-manager", groups: ["system:authenticated"] },
  };
  await using s = await testServer({ users });
  const { json } = await s.call("POST", configMaps, configMap("cause"));
  const because = `configmaps/default/cause@${json.metadata.resourceVersion}`;
  for (const name of ["joe", "manager"])
    await s.call("POST", configMaps, configMap(name), { authorization: `Bearer ${name}`, "knarr-because": because });
  const { writes } = (await s.call("GET", "/knarr/v1/trace?resource=configmaps&namespace=default&name=cause")).json;
  assert.deepEqual(
    writes.map(({ name }: { name: string }) => name),
    ["cause", "manager"],
  );
});

test("a bug is told to the log in full, and to the client as upstream tells of a panic", async () => {
  const bugs: unknown[] = [];
  const broken = () => {
    throw new TypeError("secret-word is undefined");
  };
  await using s = await testServer({
    authorizers: () => [broken],
    users: { joe: { name: "joe", groups: [] } },
    log: { ...silentLog, error: (_: string, fields?: object) => void bugs.push(fields) } as typeof silentLog,
  });
  const { code, text } = await s.call("GET", configMaps, undefined, { authorization: "Bearer joe" });
  assert.equal(code, 500);
  assert.match(
    text,
    /Internal error occurred: This request caused apiserver to panic\. Look in the logs for details\./,
  );
  assert.doesNotMatch(text, /secret-word/);
  assert.equal(bugs.length, 1);
});

test("a merge patch is warned of unknown fields in the order of their names", async () => {
  await using s = await testServer();
  const path = "/api/v1/namespaces/a/services/s";
  const spec = { ports: [{ port: 80 }] };
  await s.call("POST", "/api/v1/namespaces/a/services", { metadata: { name: "s" }, spec });
  const { headers } = await s.call(
    "PATCH",
    path,
    { spec: { zeta: 1, alpha: 2 } },
    { "content-type": "application/merge-patch+json" },
  );
  assert.deepEqual(headers?.warning, [
    '299 - "unknown field \\"spec.alpha\\""',
    '299 - "unknown field \\"spec.zeta\\""',
  ]);
});

test("a patch that removes all metadata is refused for the name that it lacks", async () => {
  await using s = await testServer();
  await s.call("POST", configMaps, configMap("a"));
  const removals: readonly [string, unknown][] = [
    ["application/json-patch+json", [{ op: "remove", path: "/metadata" }]],
    ["application/merge-patch+json", { metadata: null }],
    ["application/strategic-merge-patch+json", { metadata: null }],
    ["application/strategic-merge-patch+json", { $patch: "replace" }],
  ];
  for (const [type, patch] of removals) {
    const { code, json } = await s.call("PATCH", `${configMaps}/a`, patch, { "content-type": type });
    assert.deepEqual(
      [code, json.message],
      [400, "the name of the object (a based on URL) was undeterminable: name must be provided"],
      type,
    );
  }
});

test("an object from memory is answered at once, and nobody looks at the signal of the request", async () => {
  await using s = await testServer({ authenticators: [() => testUser] });
  await s.call("POST", pods, pod("web"));
  const path = `${pods}/web`;
  const answer = s.server.handle({
    method: "GET",
    path,
    url: path,
    query: new URLSearchParams(),
    headers: {},
    body: async () => new Uint8Array(),
    content: Readable.from([]),
    clientCertificate: undefined,
    remoteAddress: "127.0.0.1",
    get signal(): AbortSignal {
      return assert.fail("a signal is made, which takes as long as a tenth of the rest");
    },
  });
  assert.ok(!(answer instanceof Promise), "a promise");
  assert.equal(answer.code, 200);
});
