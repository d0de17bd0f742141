import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { ApiObject } from "#schema/object.ts";
import { type TestServer, testServer } from "../testing.ts";
import type { WebhookTransport } from "../webhook/transport.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const at = (version: string) => `/apis/cargo.example/${version}/namespaces/x/crates`;
const named = (version: string) => ({ apiVersion: `cargo.example/${version}`, kind: "Crate" });

interface Review {
  readonly apiVersion: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly ApiObject[];
  };
}

/** v1 says `size`, v2 says `amount`. */
function convert({ request: { uid, desiredAPIVersion, objects }, apiVersion }: Review): object {
  const convertedObjects = objects.map(({ spec = {}, ...rest }) => {
    const { size, amount, ...others } = spec as Readonly<Record<string, unknown>>;
    const number = size ?? amount;
    const field = desiredAPIVersion.endsWith("/v1") ? "size" : "amount";
    return {
      ...rest,
      apiVersion: desiredAPIVersion,
      spec: { ...others, ...(number !== undefined && { [field]: number }) },
    };
  });
  return { apiVersion, kind: "ConversionReview", response: { uid, convertedObjects, result: { status: "Success" } } };
}

interface Hook extends WebhookTransport {
  readonly reviews: readonly Review[];
  answer: (review: Review) => object;
}

function hookOf(): Hook {
  const reviews: Review[] = [];
  const hook: Hook = {
    reviews,
    answer: convert,
    async post(_target, { body }) {
      const review = JSON.parse(body) as Review;
      reviews.push(review);
      return { code: 200, contentType: "application/json", text: JSON.stringify(hook.answer(review)) };
    },
  };
  return hook;
}

async function install(server: TestServer): Promise<void> {
  const version = (name: string, field: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: { type: "object", properties: { [field]: { type: "integer" }, note: { type: "string" } } },
        },
      },
    },
  });
  const conversion = {
    strategy: "Webhook",
    webhook: { clientConfig: { url: "https://hook.example/convert" }, conversionReviewVersions: ["v1"] },
  };
  const names = { plural: "crates", kind: "Crate" };
  const versions = [version("v1", "size", true), version("v2", "amount", false)];
  const spec = { group: "cargo.example", scope: "Namespaced", names, versions, conversion };
  const made = await server.call("POST", definitions, { metadata: { name: "crates.cargo.example" }, spec });
  assert.equal(made.code, 201, made.text);
  while ((await server.call("GET", at("v2"))).code === 404) await setImmediate();
}

test("objects are written and read in each version, and stored in one", async () => {
  const hook = hookOf();
  await using server = await testServer({ webhooks: hook });
  await install(server);
  const made = await server.call("POST", at("v2"), { ...named("v2"), metadata: { name: "a" }, spec: { amount: 3 } });
  assert.deepEqual(
    [made.code, made.json.apiVersion, made.json.spec],
    [201, "cargo.example/v2", { amount: 3 }],
    made.text,
  );
  const stored = await server.call("GET", `${at("v1")}/a`);
  assert.deepEqual(stored.json.spec, { size: 3 });

  const mergeType = { "content-type": "application/merge-patch+json" };
  const patched = await server.call("PATCH", `${at("v2")}/a`, { spec: { amount: 5 } }, mergeType);
  assert.deepEqual([patched.code, patched.json.spec], [200, { amount: 5 }], patched.text);
  const applied = await server.call(
    "PATCH",
    `${at("v2")}/a?fieldManager=tool`,
    { ...named("v2"), spec: { note: "mine" } },
    { "content-type": "application/apply-patch+yaml" },
  );
  assert.deepEqual([applied.code, applied.json.spec], [200, { amount: 5, note: "mine" }], applied.text);
  assert.deepEqual((await server.call("GET", `${at("v1")}/a`)).json.spec, { size: 5, note: "mine" });
});

test("a list is converted by one call, and the events of a watch are converted as well", async () => {
  const hook = hookOf();
  await using server = await testServer({ webhooks: hook });
  await install(server);
  for (const name of ["a", "b", "c"])
    await server.call("POST", at("v1"), { ...named("v1"), metadata: { name }, spec: { size: 1 } });
  const before = hook.reviews.length;
  const list = await server.call("GET", at("v2"));
  assert.deepEqual(
    list.json.items.map(({ spec }: ApiObject) => spec),
    [{ amount: 1 }, { amount: 1 }, { amount: 1 }],
  );
  assert.deepEqual(
    hook.reviews.slice(before).map(({ request }) => request.objects.length),
    [3],
  );
  const watch = await server.watch(`${at("v2")}?watch=1&resourceVersion=${list.json.metadata.resourceVersion}`);
  await server.call("POST", at("v1"), { ...named("v1"), metadata: { name: "d" }, spec: { size: 9 } });
  const { value } = await watch.next();
  const { type, object } = value as { readonly type: string; readonly object: ApiObject };
  assert.deepEqual([type, object.apiVersion, object.spec], ["ADDED", "cargo.example/v2", { amount: 9 }]);
});

const wrong: readonly (readonly [string, (review: Review) => object, RegExp])[] = [
  [
    "refuses",
    ({ request, apiVersion }) => ({
      apiVersion,
      kind: "ConversionReview",
      response: { uid: request.uid, result: { status: "Failure", message: "no" } },
    }),
    /conversion webhook for cargo.example\/v1, Kind=Crate failed: no/,
  ],
  [
    "answers another request",
    (review) => ({ ...convert(review), response: { ...(convert(review) as Answer).response, uid: "x" } }),
    /failed: expected response.uid=/,
  ],
  [
    "loses an object",
    (review) => ({ ...convert(review), response: { ...(convert(review) as Answer).response, convertedObjects: [] } }),
    /returned 0 objects, expected 1/,
  ],
  [
    "answers the wrong version",
    (review) => convert({ ...review, request: { ...review.request, desiredAPIVersion: "cargo.example/v3" } }),
    /returned invalid converted object at index 0: invalid groupVersion \(expected cargo.example\/v2, received cargo.example\/v3\)/,
  ],
  [
    "renames an object",
    (review) =>
      convert({
        ...review,
        request: {
          ...review.request,
          objects: review.request.objects.map((one) => ({ ...one, metadata: { ...one.metadata, name: "other" } })),
        },
      }),
    /returned invalid metadata: metadata.name/,
  ],
];
interface Answer {
  readonly response: object;
}

test("a webhook that does not do as it should is named, and what it says is not believed", async () => {
  const hook = hookOf();
  await using server = await testServer({ webhooks: hook });
  await install(server);
  await server.call("POST", at("v1"), { ...named("v1"), metadata: { name: "a" }, spec: { size: 1 } });
  for (const [what, answer, words] of wrong) {
    hook.answer = answer;
    const { code, json } = await server.call("GET", `${at("v2")}/a`);
    assert.equal(code, 500, what);
    assert.match(json.message, words, what);
  }
  assert.equal((await server.call("GET", `${at("v1")}/a`)).code, 200, "the stored version needs no webhook");
});
