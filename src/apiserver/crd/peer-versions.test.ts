import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ApiObject } from "#schema/object.ts";
import { admissionOf } from "../admission/configuration.ts";
import { type TestServer, testServer } from "../testing.ts";
import type { WebhookTransport } from "../webhook/transport.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const name = "crates.cargo.example";
const at = (version: string) => `/apis/cargo.example/${version}/namespaces/x/crates`;
const named = (version: string) => ({ apiVersion: `cargo.example/${version}`, kind: "Crate" });

const version = (version: string, storage: boolean, properties: object, more: object = {}) => ({
  name: version,
  served: true,
  storage,
  schema: {
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
  },
  ...more,
});

interface Versioned {
  readonly name: string;
  readonly storage: boolean;
}

async function install(server: TestServer, versions: readonly Versioned[], conversion?: object): Promise<void> {
  const names = { plural: "crates", kind: "Crate" };
  const spec = { group: "cargo.example", scope: "Namespaced", names, versions, ...(conversion && { conversion }) };
  const made = await server.call("POST", definitions, { metadata: { name }, spec });
  assert.equal(made.code, 201, made.text);
  for (const one of versions) while ((await server.call("GET", at(one.name))).code === 404) await setImmediate();
}

test("a custom resource is pruned, defaulted and validated by the schema of the version that it is written in", async () => {
  await using server = await testServer();
  await install(server, [
    version("v1", true, { size: { type: "integer", maximum: 10 }, old: { type: "string", default: "yes" } }),
    version("v2", false, { size: { type: "integer", maximum: 100 }, mode: { type: "string", default: "auto" } }),
  ]);
  const write = (v: string, name: string, spec: object) =>
    server.call("POST", at(v), { ...named(v), metadata: { name }, spec });
  assert.equal((await write("v1", "a", { size: 50 })).code, 422);
  const made = await write("v2", "a", { size: 50, old: "no" });
  assert.deepEqual([made.code, made.json.spec], [201, { size: 50 }], "what v1 does not know is not stored");
  const tooLarge = await write("v2", "b", { size: 500 });
  assert.match(tooLarge.json.message, /spec.size in body should be less than or equal to 100/);

  const merge = { "content-type": "application/merge-patch+json" };
  const label = { metadata: { labels: { x: "1" } } };
  const kept = await server.call("PATCH", `${at("v1")}/a`, label, merge);
  assert.equal(kept.code, 200, "what v1 would refuse may stay if it does not change");
  const grown = await server.call("PATCH", `${at("v1")}/a`, { spec: { size: 51 } }, merge);
  assert.equal(grown.code, 422, grown.text);
  const patched = await server.call("PATCH", `${at("v2")}/a`, { spec: { size: 99 } }, merge);
  assert.equal(patched.code, 200, patched.text);
});

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly ApiObject[];
  };
}

/** v1 says `size`, v2 says `amount`. */
function convertingHook() {
  const calls: number[] = [];
  const hook: WebhookTransport = {
    async post(_target, { body }) {
      const { apiVersion, request } = JSON.parse(body) as Review;
      const { uid, desiredAPIVersion, objects } = request;
      calls.push(objects.length);
      const field = desiredAPIVersion.endsWith("/v1") ? "size" : "amount";
      const convertedObjects = objects.map(({ spec, ...rest }) => {
        const { size, amount, ...others } = spec as Readonly<Record<string, unknown>>;
        return { ...rest, apiVersion: desiredAPIVersion, spec: { ...others, [field]: size ?? amount } };
      });
      const response = { uid, convertedObjects, result: { status: "Success" } };
      return {
        code: 200,
        contentType: "application/json",
        text: JSON.stringify({ apiVersion, kind: "ConversionReview", response }),
      };
    },
  };
  return { hook, calls };
}

const byWebhook = {
  strategy: "Webhook",
  webhook: { clientConfig: { url: "https://hook.example/convert" }, conversionReviewVersions: ["v1"] },
};
const crates = (stored: string): readonly Versioned[] => [
  version("v1", stored === "v1", { size: { type: "integer" } }),
  version("v2", stored === "v2", { amount: { type: "integer" } }),
];

test("objects of a former storage version are converted by the webhook when they are read, until they are written again", async () => {
  const { hook, calls } = convertingHook();
  await using server = await testServer({ webhooks: hook });
  await install(server, crates("v1"), byWebhook);
  for (const [i, name] of ["a", "b"].entries())
    await server.call("POST", at("v1"), { ...named("v1"), metadata: { name }, spec: { size: i } });
  const present = await server.call("GET", `${definitions}/${name}`);
  const change = { ...present.json, spec: { ...present.json.spec, versions: crates("v2") } };
  assert.equal((await server.call("PUT", `${definitions}/${name}`, change)).code, 200);
  const stored = async () => (await server.call("GET", `${definitions}/${name}`)).json.status.storedVersions;
  while ((await stored()).length < 2) await setImmediate();
  // The kinds are replaced after the definition has been written; until then v1 is read as it was stored, without the webhook.
  for (calls.length = 0; calls.length === 0; ) await server.call("GET", `${at("v2")}/a`);
  const read = await server.call("GET", `${at("v2")}/a`);
  assert.deepEqual([read.json.apiVersion, read.json.spec], ["cargo.example/v2", { amount: 0 }]);
  const list = await server.call("GET", at("v2"));
  assert.deepEqual(
    list.json.items.map(({ spec }: ApiObject) => spec),
    [{ amount: 0 }, { amount: 1 }],
  );
  const watch = await server.watch(`${at("v2")}?watch=1&resourceVersion=0`);
  const { value } = await watch.next();
  assert.deepEqual((value as { object: ApiObject }).object.spec, { amount: 0 });

  const { resourceVersion } = read.json.metadata;
  const same = await server.call("PUT", `${at("v2")}/a`, read.json);
  assert.equal(same.code, 200, same.text);
  assert.notEqual(
    same.json.metadata.resourceVersion,
    resourceVersion,
    "an update without a change brings it up to date",
  );
  calls.length = 0;
  assert.deepEqual((await server.call("GET", `${at("v2")}/a`)).json.spec, { amount: 0 });
  assert.deepEqual(calls, []);
  const gone = await server.call("DELETE", `${at("v2")}/b`);
  assert.equal(gone.code, 200, gone.text);
});

test("policies see a custom resource in the version that they ask for, also where a webhook converts", async () => {
  const { hook } = convertingHook();
  await using server = await testServer({ webhooks: hook, admission: admissionOf({}) });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
  await install(server, crates("v1"), byWebhook);
  const registration = "/apis/admissionregistration.k8s.io/v1";
  const matchConstraints = {
    resourceRules: [
      { apiGroups: ["cargo.example"], apiVersions: ["v2"], operations: ["CREATE", "UPDATE"], resources: ["crates"] },
    ],
  };
  const made = [
    await server.call("POST", `${registration}/validatingadmissionpolicies`, {
      metadata: { name: "small" },
      spec: {
        matchConstraints,
        validations: [
          { expression: "object.spec.amount < 10", messageExpression: "string(object.spec.amount) + ' is much'" },
        ],
      },
    }),
    await server.call("POST", `${registration}/validatingadmissionpolicybindings`, {
      metadata: { name: "small" },
      spec: { policyName: "small", validationActions: ["Deny"] },
    }),
    await server.call("POST", `${registration}/mutatingadmissionpolicies`, {
      metadata: { name: "one-more" },
      spec: {
        matchConstraints,
        reinvocationPolicy: "Never",
        mutations: [
          {
            patchType: "JSONPatch",
            jsonPatch: {
              expression: "[JSONPatch{op: 'replace', path: '/spec/amount', value: object.spec.amount + 1}]",
            },
          },
        ],
      },
    }),
    await server.call("POST", `${registration}/mutatingadmissionpolicybindings`, {
      metadata: { name: "one-more" },
      spec: { policyName: "one-more" },
    }),
  ];
  for (const { code, text } of made) assert.equal(code, 201, text);
  const write = (v: string, name: string, spec: object) =>
    server.call("POST", at(v), { ...named(v), metadata: { name }, spec });
  const taken = await write("v1", "a", { size: 3 });
  assert.deepEqual([taken.code, taken.json.spec], [201, { size: 4 }], taken.text);
  const refused = await write("v1", "b", { size: 30 });
  assert.equal(refused.code, 422, refused.text);
  assert.match(refused.json.message, /31 is much/);
  const other = await write("v2", "c", { amount: 3 });
  assert.deepEqual([other.code, other.json.spec], [201, { amount: 4 }], other.text);
});
