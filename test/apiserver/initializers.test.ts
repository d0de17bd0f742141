// Objects that wait for initializers, with the two that the old documentation tells of: one puts a container into pods, the other takes no
// secrets that are too short.
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { InitializerConfiguration } from "#api/admissionregistration/v1alpha1/initializer-configuration.ts";
import { catalog, onRequest } from "#api/catalog.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { enabledKinds, servedBy } from "#apiserver/served/runtime-config.ts";
import { type TestOptions, type TestServer, testServer } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { UsageError } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";

const configurations = "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations";
const pods = "/api/v1/namespaces/default/pods";
const secrets = "/api/v1/namespaces/default/secrets";
const all = "includeUninitialized=true";
const merge = { "content-type": "application/merge-patch+json" };

const configuration = (name: string, resource: string, ...names: readonly string[]) => ({
  metadata: { name },
  initializers: names.map((one) => ({
    name: one,
    rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: [resource] }],
  })),
});
const pod = (name: string) => ({ metadata: { name }, spec: { containers: [{ name: "main", image: "nginx" }] } });

async function world(t: TestContext, options: TestOptions = {}): Promise<TestServer> {
  const admission = admissionOf({ enable: ["Initializers"], disable: ["ServiceAccount"] });
  const server = await testServer({ admission, kinds: [...catalog, ...onRequest], initializes: true, ...options });
  t.after(() => server[Symbol.asyncDispose]());
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  return server;
}

/** The object once it waits for initializers, though nobody else sees it. */
async function waiting({ call }: TestServer, path: string): Promise<ApiObject> {
  for (let i = 0; i < 1000; i++) {
    const { code, json } = await call("GET", `${path}?${all}`);
    if (code === 200) return json;
    await turn();
  }
  throw new Error(`${path} does not come`);
}

test("a pod is not seen before the sidecar is in it, and its creator waits for that", async (t) => {
  const server = await world(t);
  const { call } = server;
  assert.equal((await call("POST", configurations, configuration("sidecar", "pods", "sidecar.example.com"))).code, 201);
  const watching = await server.watch(`${pods}?watch=true`);
  const first = watching.next();
  const seeing = await server.watch(`${pods}?watch=true&${all}`);
  const creating = call("POST", pods, pod("web"));
  const uninitialized = await waiting(server, `${pods}/web`);
  assert.deepEqual(uninitialized.metadata.initializers, { pending: [{ name: "sidecar.example.com" }] });
  assert.equal((await call("GET", `${pods}/web`)).code, 404);
  assert.deepEqual((await call("GET", pods)).json.items, []);
  assert.equal((await call("GET", `${pods}?${all}`)).json.items.length, 1);
  assert.equal((await seeing.next()).value.type, "ADDED");

  const containers = [...uninitialized.spec.containers, { name: "sidecar", image: "envoy" }];
  const metadata = { ...uninitialized.metadata, initializers: { pending: [] } };
  const put = await call("PUT", `${pods}/web`, {
    ...uninitialized,
    metadata,
    spec: { ...uninitialized.spec, containers },
  });
  assert.equal(put.code, 200, put.text);
  const { code, json } = await creating;
  assert.deepEqual([code, json.metadata.initializers], [201, undefined]);
  assert.deepEqual(
    json.spec.containers.map(({ name }: { name: string }) => name),
    ["main", "sidecar"],
  );
  const late = { spec: { containers: [{ name: "late", image: "x" }] } };
  assert.equal((await call("PATCH", `${pods}/web`, late, merge)).code, 422); // from now on it is as any other
  const { value } = await first;
  assert.deepEqual([value.type, value.object.metadata.name], ["ADDED", "web"]);
  assert.equal((await call("GET", `${pods}/web`)).code, 200);
});

test("a secret that is too short is refused by its initializer, and gone", async (t) => {
  const server = await world(t);
  const { call } = server;
  await call("POST", configurations, configuration("length", "secrets", "length.example.com"));
  const creating = call("POST", secrets, { metadata: { name: "short" }, stringData: { password: "abc" } });
  await waiting(server, `${secrets}/short`);
  const result = { status: "Failure", message: "password is shorter than 8 characters", reason: "Invalid", code: 422 };
  const answer = await call("PATCH", `${secrets}/short?${all}`, { metadata: { initializers: { result } } }, merge);
  assert.equal(answer.code, 200, answer.text);
  const { code, json } = await creating;
  assert.deepEqual([code, json.message], [422, "password is shorter than 8 characters"]);
  assert.equal((await call("GET", `${secrets}/short?${all}`)).code, 404);
  const long = call("POST", secrets, { metadata: { name: "long" }, stringData: { password: "long enough" } });
  await waiting(server, `${secrets}/long`);
  await call("PATCH", `${secrets}/long`, { metadata: { initializers: null } }, merge);
  assert.equal((await long).code, 201);
});

test("initializers act in order: only the first may be taken off, by those who may initialize", async (t) => {
  const users = { jane: { name: "jane", groups: [] } };
  const authorizers: TestOptions["authorizers"] = () => [
    ({ user, verb }) => ({
      decision: user.name === "jane" && verb === "initialize" ? "none" : "allow",
      reason: "no rule",
    }),
  ];
  const server = await world(t, { users, authorizers });
  const { call } = server;
  await call("POST", configurations, configuration("b", "pods", "last.example.com"));
  await call("POST", configurations, configuration("a", "pods", "one.example.com", "two.example.com"));
  const creating = call("POST", `${pods}?${all}`, pod("web"));
  assert.equal((await creating).code, 201); // who wants to see it need not wait
  const pending = (...names: readonly string[]) => ({
    metadata: { initializers: { pending: names.map((name) => ({ name })) } },
  });
  const patch = (body: object, headers: Record<string, string> = merge) => call("PATCH", `${pods}/web`, body, headers);
  const skipped = await patch(pending("one.example.com", "last.example.com"));
  assert.equal(skipped.code, 422);
  assert.match(skipped.json.message, /may only be removed from the front, one at a time/);
  const { code, json } = await patch(pending("two.example.com", "last.example.com"), {
    ...merge,
    authorization: "Bearer jane",
  });
  assert.deepEqual(
    [code, json.message],
    [403, 'pods "web" is forbidden: update to uninitialized resource denied: no rule'],
  );
  for (const left of [["two.example.com", "last.example.com"], ["last.example.com"], []])
    assert.equal((await patch(pending(...left))).code, 200);
  assert.equal((await call("GET", `${pods}/web`)).json.metadata.initializers, undefined);
  const late = await patch(pending("one.example.com"));
  assert.match(late.json.message, /field is immutable once initialization has completed/);
  const skipping = { ...pod("quick"), metadata: { name: "quick", initializers: { pending: [] } } };
  const refused = await call("POST", pods, skipping, { authorization: "Bearer jane" });
  assert.match(refused.json.message, /create with initializers denied/);
  assert.equal((await call("POST", pods, skipping)).code, 201); // an administrator may
});

test("whoever creates an object is told after half a minute that nobody has initialized it, and it stays", async (t) => {
  const server = await world(t);
  const { call, clock } = server;
  await call("POST", configurations, configuration("never", "pods", "never.example.com"));
  const creating = call("POST", pods, pod("web"));
  await waiting(server, `${pods}/web`);
  await clock.advance(30_000);
  const { code, json } = await creating;
  assert.deepEqual([code, json.reason], [504, "Timeout"]);
  assert.match(json.message, /^Timeout: server has timed out waiting for the initialization of pods /);
  assert.equal((await call("GET", `${pods}/web?${all}`)).code, 200);
  assert.equal((await call("DELETE", `${pods}/web`)).code, 200);
});

test("configurations are checked", async (t) => {
  const { call } = await world(t);
  const { code, json } = await call("POST", configurations, {
    metadata: { name: "x" },
    initializers: [{ name: "short", rules: [{ apiGroups: ["*", ""], apiVersions: ["v1"], resources: ["pods/log"] }] }],
  });
  assert.equal(code, 422);
  assert.match(json.message, /should be a domain with at least three segments separated by dots/);
  assert.match(json.message, /if '\*' is present, must not specify other values/);
  assert.match(json.message, /initializers\[0\]\.rules\[0\]\.resources\[0\]/);
});

test("without the switches there are no initializers, and nobody can ask for one", async (t) => {
  const server = await testServer();
  t.after(() => server[Symbol.asyncDispose]());
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  assert.equal((await server.call("GET", configurations)).code, 404);
  const asked = { ...pod("web"), metadata: { name: "web", initializers: { pending: [{ name: "a.b.c" }] } } };
  const { code, json } = await server.call("POST", pods, asked);
  assert.deepEqual([code, json.metadata.initializers], [201, undefined]);
  const { json: document } = await server.call("GET", "/openapi/v2");
  assert.equal(
    document.definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"].properties.initializers,
    undefined,
  );
});

test("versions and resources are switched on and off by their names", async (t) => {
  const served = (...pairs: readonly string[]) =>
    new Set(enabledKinds(pairs).kinds.map(({ apiVersion, plural }) => `${apiVersion}/${plural}`));
  assert.ok(!served().has("admissionregistration.k8s.io/v1alpha1/initializerconfigurations"));
  assert.ok(served("api/alpha=true").has("admissionregistration.k8s.io/v1alpha1/initializerconfigurations"));
  assert.ok(
    !served("api/all=true", "admissionregistration.k8s.io/v1alpha1=false").has(
      "admissionregistration.k8s.io/v1alpha1/initializerconfigurations",
    ),
  );
  assert.ok(!served("autoscaling/v1=false").has("autoscaling/v1/horizontalpodautoscalers"));
  assert.ok(served("autoscaling/v1=false").has("autoscaling/v2/horizontalpodautoscalers"));
  const few = served("batch/v1/cronjobs=false");
  assert.deepEqual([few.has("batch/v1/cronjobs"), few.has("batch/v1/jobs")], [false, true]);
  assert.ok(enabledKinds(["api/beta=true"]).ignored.includes("resource.k8s.io/v1beta1"));
  assert.ok(served("api/all=false", "apps/v1=true").has("v1/pods"));
  assert.deepEqual(servedBy([InitializerConfiguration.apiVersion], ["Initializers"]).initializes, true);
  assert.throws(() => servedBy([], ["Initializers"]), UsageError);

  const server = await testServer({ kinds: enabledKinds(["autoscaling/v2=false", "batch/v1/cronjobs=false"]).kinds });
  t.after(() => server[Symbol.asyncDispose]());
  assert.equal((await server.call("GET", "/apis/autoscaling/v2")).code, 404);
  assert.equal((await server.call("GET", "/apis/autoscaling/v1/horizontalpodautoscalers")).code, 200);
  assert.equal((await server.call("GET", "/apis/batch/v1/cronjobs")).code, 404);
  assert.equal((await server.call("GET", "/apis/batch/v1/jobs")).code, 200);
});
