import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { csrOf, ecdsaWithSha256 } from "#api/certificates/v1/testing.ts";
import type { User } from "#wire/api-request.ts";
import { type TestServer, testServer } from "../testing.ts";

const merge = { "content-type": "application/merge-patch+json" };
const pods = "/api/v1/namespaces/a/pods";

async function addPod(server: TestServer, container: object = {}) {
  const spec = { containers: [{ name: "c", image: "i", ...container }] };
  const made = await server.call("POST", pods, { metadata: { name: "p", labels: { a: "b" } }, spec });
  assert.equal(made.code, 201, made.text);
  return made.json;
}

test("ephemeral containers are added through their own path, and nothing else is", async () => {
  await using server = await testServer();
  const pod = await addPod(server);
  const path = `${pods}/p/ephemeralcontainers`;
  const debug = { name: "d", image: "busybox" };
  const added = await server.call("PUT", path, {
    ...pod,
    metadata: { ...pod.metadata, labels: { other: "label" } },
    spec: { ...pod.spec, activeDeadlineSeconds: 5, ephemeralContainers: [debug] },
  });
  assert.equal(added.code, 200, added.text);
  assert.equal(added.json.spec.ephemeralContainers[0].name, "d");
  assert.equal(added.json.spec.activeDeadlineSeconds, undefined);
  assert.deepEqual(added.json.metadata.labels, { a: "b" });
  assert.equal(added.json.metadata.generation, 2);
  const noted = added.json.metadata.managedFields?.find(({ subresource }) => subresource === "ephemeralcontainers");
  assert.deepEqual(Object.keys(noted?.fieldsV1 ?? {}), ["f:spec"]);

  const patched = await server.call(
    "PATCH",
    path,
    { spec: { ephemeralContainers: [{ name: "e", image: "busybox" }] } },
    { "content-type": "application/strategic-merge-patch+json" },
  );
  assert.deepEqual(patched.json.spec.ephemeralContainers.map(({ name }: { name: string }) => name).toSorted(), [
    "d",
    "e",
  ]);
  const removed = await server.call("PATCH", path, { spec: { ephemeralContainers: null } }, merge);
  assert.match(String(removed.json.message), /existing ephemeral containers "d" may not be removed/);
  assert.equal((await server.call("GET", path)).json.metadata.name, "p");
  assert.equal((await server.call("DELETE", path)).code, 405);
  const direct = await server.call("PATCH", `${pods}/p`, { spec: { ephemeralContainers: [debug] } }, merge);
  assert.equal(direct.code, 422);
});

test("resources of a pod change through resize, and nothing else does", async () => {
  await using server = await testServer();
  const resources = (cpu: string) => ({
    requests: { cpu, memory: "1Gi" },
    limits: { cpu: "2", memory: "1Gi" },
  });
  await addPod(server, { resources: resources("1") });
  const path = `${pods}/p/resize`;
  const size = (cpu: string, more: object = {}) => ({
    spec: { containers: [{ name: "c", image: "i", resources: resources(cpu), ...more }] },
  });
  const resized = await server.call("PATCH", path, size("1500m", { image: "other" }), merge);
  assert.equal(resized.code, 200, resized.text);
  const [container] = resized.json.spec.containers;
  assert.deepEqual([container.resources.requests.cpu, container.image], ["1500m", "i"]);
  assert.equal(resized.json.metadata.generation, 2);
  const refused = await server.call("PATCH", path, size("2"), merge);
  assert.match(String(refused.json.message), /Pod QOS Class may not change as a result of resizing/);
  const renamed = await server.call("PATCH", path, size("1", { name: "x" }), merge);
  assert.match(String(renamed.json.message), /containers may not be renamed or reordered on resize/);
  const more = await server.call("PATCH", path, { spec: { containers: [] } }, merge);
  assert.match(String(more.json.message), /containers may not be added or removed on resize/);
});

test("label keys of a pod stand for the values of its own labels", async () => {
  await using server = await testServer();
  const labelSelector = { matchLabels: { a: "b" } };
  const term = { topologyKey: "zone", labelSelector, matchLabelKeys: ["a", "none"], mismatchLabelKeys: ["v"] };
  const made = await server.call("POST", pods, {
    metadata: { name: "p", labels: { a: "b", v: "1", h: "2" } },
    spec: {
      containers: [{ name: "c", image: "i" }],
      affinity: {
        podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, matchLabelKeys: ["h"] }] },
      },
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector, matchLabelKeys: ["h"] },
      ],
    },
  });
  assert.equal(made.code, 201, made.text);
  const own = { key: "h", operator: "In", values: ["2"] };
  const { affinity, topologySpreadConstraints } = made.json.spec;
  assert.deepEqual(
    affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions,
    [own, { key: "v", operator: "NotIn", values: ["1"] }],
  );
  assert.deepEqual(topologySpreadConstraints[0].labelSelector.matchExpressions, [own]);
});

test("a pod whose name is no hostname is taken with a warning", async () => {
  await using server = await testServer();
  const spec = { containers: [{ name: "c", image: "i" }] };
  const { code, headers } = await server.call("POST", pods, { metadata: { name: "a.b" }, spec });
  assert.equal(code, 201);
  const why =
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]";
  assert.deepEqual(headers?.warning, [`299 - ${JSON.stringify(why)}`]);
});

test("a status that does not know of generations does not make them forgotten", async () => {
  await using server = await testServer();
  await addPod(server);
  const report = (status: object, more: object = {}) =>
    server.call("PATCH", `${pods}/p/status`, { ...more, status }, merge);
  await report({ observedGeneration: 1, conditions: [{ type: "Ready", status: "True", observedGeneration: 1 }] });
  const owner = { apiVersion: "v1", kind: "Pod", name: "x", uid: "u" };
  const { json } = await report(
    { observedGeneration: null, conditions: [{ type: "Ready", status: "False" }] },
    { metadata: { ownerReferences: [owner] } },
  );
  assert.equal(json.status.observedGeneration, 1);
  assert.equal(json.status.conditions[0].observedGeneration, 1);
  assert.equal(json.metadata.ownerReferences, undefined);
});

const ann: User = { name: "ann", uid: "7", groups: ["devs"], extra: { team: ["a"] } };
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const pem = (type: string) => btoa(`-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`);

async function addRequest(server: TestServer, more: object = {}) {
  const made = await server.call("POST", requests, {
    metadata: { name: "r" },
    spec: { request: csrOf({ CN: ["jane"] }), signerName: "example.com/x", usages: ["client auth"], ...more },
    status: { conditions: [{ type: "Approved", status: "True" }] },
  });
  assert.equal(made.code, 201, made.text);
  return made.json;
}

test("a certificate request that is not signed by its key is refused, with whatever else is wrong", async () => {
  await using server = await testServer();
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const foreign = { publicKey, algorithm: ecdsaWithSha256, sign: () => Buffer.from("3006020101020101", "hex") };
  const request = csrOf({ CN: ["jane"] }, foreign);
  const { code, text } = await server.call("POST", requests, {
    metadata: { name: "r" },
    spec: { request, signerName: "example.com/x", usages: [] },
  });
  assert.equal(code, 422);
  assert.ok(text.includes(`spec.request: Invalid value: \\"${request}\\": x509: ECDSA verification failure`), text);
  assert.match(text, /spec\.usages: Required value/);
});

test("a certificate request says who made it, whatever it claims", async () => {
  await using server = await testServer({ authenticators: [async () => ann] });
  const { spec, status } = await addRequest(server, { username: "root", uid: "0", groups: ["system:masters"] });
  assert.deepEqual(
    [spec.username, spec.uid, spec.groups, spec.extra],
    ["ann", "7", ["devs", "system:authenticated"], { team: ["a"] }],
  );
  assert.deepEqual(status, {});
  const changed = await server.call("PATCH", `${requests}/r`, { spec: { username: "root" } }, merge);
  assert.equal(changed.json.spec.username, "ann");
});

test("a certificate request is decided through approval and signed through status", async () => {
  await using server = await testServer();
  await addRequest(server);
  const decide = (path: string, conditions: object[], more: object = {}) =>
    server.call("PATCH", `${requests}/r${path}`, { status: { conditions, ...more } }, merge);
  const yes = { type: "Approved", status: "True", reason: "Why", message: "not" };

  const early = await decide("/status", [yes]);
  assert.match(String(early.json.message), /updates may not add a condition of type "Approved"/);
  const approved = await decide("/approval", [yes], { certificate: pem("CERTIFICATE") });
  assert.equal(approved.code, 200, approved.text);
  const now = "2026-01-01T00:00:00Z";
  assert.deepEqual(approved.json.status, { conditions: [{ ...yes, lastUpdateTime: now, lastTransitionTime: now }] });
  const both = await decide("/approval", [yes, { type: "Denied", status: "True" }]);
  assert.match(String(both.json.message), /Approved and Denied conditions are mutually exclusive/);
  const unsure = await decide("/approval", [yes, { type: "Failed", status: "No" }]);
  assert.match(
    String(unsure.json.message),
    /status.conditions\[1\].status: Unsupported value: "No": supported values: "True"/,
  );
  const revoked = await decide("/approval", []);
  assert.match(String(revoked.json.message), /updates may not remove a condition of type "Approved"/);

  const signed = await decide("/status", [{ ...yes, message: "changed" }], { certificate: pem("CERTIFICATE") });
  assert.equal(signed.json.status.certificate, pem("CERTIFICATE"));
  assert.equal(signed.json.status.conditions[0].message, "not");
  const again = await decide("/status", [yes], { certificate: pem("CERTIFICATE").replace("Q", "R") });
  assert.match(String(again.json.message), /updates may not modify existing certificate content/);
  // What was asked for is the server's, and of an object that nobody owns a part of no later update makes one an owner.
  assert.equal(signed.json.metadata.managedFields, undefined);
});

test("a claim's source is said in both of its fields", async () => {
  await using server = await testServer();
  const claims = "/api/v1/namespaces/a/persistentvolumeclaims";
  const source = { apiGroup: null, kind: "PersistentVolumeClaim", name: "b" };
  const create = (name: string, more: object) =>
    server.call("POST", claims, {
      metadata: { name },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...more },
    });
  const old = await create("old", { dataSource: source });
  assert.deepEqual(old.json.spec.dataSourceRef, source);
  assert.deepEqual(old.json.status, { phase: "Pending" });
  assert.deepEqual((await create("new", { dataSourceRef: source })).json.spec.dataSource, source);
  const odd = await create("odd", { dataSource: { apiGroup: "x.y", kind: "Thing", name: "b" } });
  assert.deepEqual([odd.code, odd.json.spec.dataSource, odd.json.spec.dataSourceRef], [201, undefined, undefined]);
});

test("generations are counted as each kind counts them", async () => {
  await using server = await testServer();
  const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  await server.call("POST", classes, { metadata: { name: "x" }, value: 1 });
  const described = await server.call("PATCH", `${classes}/x`, { description: "new" }, merge);
  assert.equal(described.json.metadata.generation, 1);
  const drivers = "/apis/storage.k8s.io/v1/csidrivers";
  const driver = await server.call("POST", drivers, { metadata: { name: "d.x" }, spec: {} });
  assert.equal(driver.json.metadata.generation, undefined);
  const changed = await server.call("PATCH", `${drivers}/d.x`, { spec: { requiresRepublish: true } }, merge);
  assert.equal(changed.json.metadata.generation, 1);
});

test("events are gone after an hour, or when they are told to be", async () => {
  for (const [eventSeconds, seconds] of [
    [undefined, 3600],
    [90, 90],
  ] as const) {
    await using server = await testServer(eventSeconds === undefined ? {} : { eventSeconds });
    const events = "/api/v1/namespaces/a/events";
    const involvedObject = { kind: "Pod", name: "p", namespace: "a" };
    assert.equal((await server.call("POST", events, { metadata: { name: "e" }, involvedObject })).code, 201);
    await server.clock.advance((seconds - 5) * 1000);
    assert.equal((await server.call("GET", `${events}/e`)).code, 200);
    await server.clock.advance(10_000);
    assert.equal((await server.call("GET", `${events}/e`)).code, 404, `after ${seconds} s`);
  }
});

test("an event of events.k8s.io has a DNS name, and is missing in the group in which it is asked for", async () => {
  await using server = await testServer();
  const [core, events] = ["/api/v1/namespaces/a/events", "/apis/events.k8s.io/v1/namespaces/a/events"];
  const involvedObject = { kind: "Pod", name: "p", namespace: "a" };
  assert.equal((await server.call("POST", core, { metadata: { name: "Bad_Value!" }, involvedObject })).code, 201);
  const event = {
    regarding: involvedObject,
    reason: "R",
    type: "Normal",
    action: "A",
    reportingController: "x.io/c",
    reportingInstance: "i",
    eventTime: "2020-01-01T00:00:00.000000Z",
  };
  const refused = await server.call("POST", events, { metadata: { name: "Worse_Value!" }, ...event });
  assert.equal(refused.code, 422);
  assert.match(refused.json.message, /^Event "Worse_Value!" is invalid: metadata.name: Invalid value/);
  assert.equal((await server.call("GET", `${events}/x`)).json.message, 'events.events.k8s.io "x" not found');
  assert.equal((await server.call("GET", `${core}/x`)).json.message, 'events "x" not found');
});

test("a claim with a source in another namespace loses that source, whose gate is off", async () => {
  await using server = await testServer();
  const claim = await server.call("POST", "/api/v1/namespaces/a/persistentvolumeclaims", {
    metadata: { name: "c" },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "x", namespace: "y" },
    },
  });
  assert.equal(claim.code, 201, claim.text);
  assert.deepEqual(claim.json.spec.dataSourceRef, claim.json.spec.dataSource);
});

test("an event is one object in two APIs", async () => {
  await using server = await testServer();
  const core = "/api/v1/namespaces/a/events";
  const events = "/apis/events.k8s.io/v1/namespaces/a/events";
  const involvedObject = { kind: "Pod", name: "p", namespace: "a" };
  const old = await server.call("POST", core, {
    metadata: { name: "old" },
    involvedObject,
    reason: "Why",
    message: "what",
    type: "Normal",
    source: { component: "x" },
  });
  assert.equal(old.code, 201, old.text);
  const seen = (await server.call("GET", `${events}/old`)).json;
  assert.deepEqual([seen.regarding, seen.note, seen.deprecatedSource], [involvedObject, "what", { component: "x" }]);
  const made = await server.call("POST", events, {
    metadata: { name: "new" },
    regarding: involvedObject,
    reason: "Why",
    note: "what",
    type: "Warning",
    action: "Doing",
    eventTime: "2026-01-01T00:00:00.000000Z",
    reportingController: "x.y/z",
    reportingInstance: "i",
  });
  assert.equal(made.code, 201, made.text);
  const back = (await server.call("GET", `${core}/new`)).json;
  assert.deepEqual([back.involvedObject, back.message, back.reportingComponent], [involvedObject, "what", "x.y/z"]);
  const named = async (path: string) =>
    (await server.call("GET", path)).json.items.map(({ metadata }: never) => (metadata as { name: string }).name);
  assert.deepEqual(await named(`${core}?fieldSelector=involvedObject.name%3Dp,type%3DWarning`), ["new"]);
  assert.deepEqual(await named(`${events}?fieldSelector=regarding.name%3Dp`), ["new", "old"]);
  assert.deepEqual(await named(`${events}?fieldSelector=type%3DNormal`), ["old"]);
});

test("a job without a name is refused for that, and is no fault of the server's", async () => {
  await using s = await testServer();
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "nginx" }] } };
  const job = { apiVersion: "batch/v1", kind: "Job", metadata: {}, spec: { template } };
  const { code, json } = await s.call("POST", "/apis/batch/v1/namespaces/default/jobs", job);
  assert.equal(code, 422, json.message);
  assert.match(json.message, /metadata\.name: Required value: name or generateName is required/);
});

test("the templates of a daemon set are counted in an annotation, whatever a client says", async () => {
  await using server = await testServer();
  const path = "/apis/apps/v1/namespaces/a/daemonsets";
  const key = "deprecated.daemonset.template.generation";
  const labels = { app: "x" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const made = await server.call("POST", path, {
    metadata: { name: "d" },
    spec: { selector: { matchLabels: labels }, template },
  });
  assert.deepEqual([made.code, made.json.metadata.annotations], [201, { [key]: "1" }]);
  const patched = async (patch: object, suffix = "") => {
    const { json } = await server.call("PATCH", `${path}/d${suffix}`, patch, merge);
    return [json.metadata.annotations?.[key], json.metadata.generation];
  };
  assert.deepEqual(await patched({ metadata: { annotations: { [key]: "7" } } }), ["1", 1]);
  assert.deepEqual(await patched({ spec: { minReadySeconds: 3 } }), ["1", 2]);
  assert.deepEqual(await patched({ spec: { template: { spec: { hostNetwork: true } } } }), ["2", 3]);
  assert.deepEqual(await patched({ metadata: { annotations: null }, status: { numberReady: 1 } }, "/status"), ["2", 3]);
  const odd = await server.call("POST", path, {
    metadata: { name: "e", annotations: { [key]: "x" } },
    spec: { selector: { matchLabels: labels }, template },
  });
  assert.deepEqual([odd.code, odd.json.message], [400, 'strconv.ParseInt: parsing "x": invalid syntax']);
});
