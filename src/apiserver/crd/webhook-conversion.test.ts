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
  const convertedObjects = objects.map(({ spec, ...rest }) => {
    // Null stands where an apply has removed all that there was.
    const { size, amount, ...others } = (spec ?? {}) as Readonly<Record<string, unknown>>;
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
    selectableFields: [{ jsonPath: `.spec.${field}` }],
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

const applied = { "content-type": "application/apply-patch+yaml" };

test("who owns a field is known across versions that call it otherwise", async () => {
  const hook = hookOf();
  await using server = await testServer({ webhooks: hook });
  await install(server);
  const apply = (version: string, manager: string, spec: object, force = false) =>
    server.call(
      "PATCH",
      `${at(version)}/a?fieldManager=${manager}&force=${force}`,
      { ...named(version), metadata: { name: "a" }, spec },
      applied,
    );
  const owners = async () =>
    Object.fromEntries(
      ((await server.call("GET", `${at("v1")}/a`)).json as ApiObject).metadata.managedFields?.map(
        ({ manager, fieldsV1 }) => [
          manager,
          Object.keys((fieldsV1 as Record<string, object>)["f:spec"] ?? {}).join(" "),
        ],
      ) ?? [],
    );
  const made = await apply("v1", "ann", { size: 1 });
  assert.equal(made.code, 201, made.text);
  const refused = await apply("v2", "bob", { amount: 2 });
  assert.equal(refused.code, 409, refused.text);
  assert.equal(refused.json.message, 'Apply failed with 1 conflict: conflict with "ann": .spec.size');

  // With the same value both own it, each by its own name; it goes when the last of them lets go.
  assert.equal((await apply("v2", "bob", { amount: 1 })).code, 200);
  assert.deepEqual(await owners(), { ann: "f:size", bob: "f:amount" });
  assert.deepEqual((await apply("v2", "bob", {})).json.spec, { amount: 1 });
  assert.equal((await apply("v2", "bob", { amount: 1 })).code, 200);
  assert.deepEqual((await apply("v1", "ann", {})).json.spec, { size: 1 });
  assert.equal((await apply("v2", "bob", {})).json.spec?.amount, undefined);

  await apply("v1", "ann", { size: 1, note: "n" });
  assert.equal((await apply("v2", "bob", { amount: 2 }, true)).code, 200);
  assert.deepEqual(await owners(), { ann: "f:note", bob: "f:amount" });

  // An update in another version takes what it changes, and nothing else.
  const { metadata } = (await server.call("GET", `${at("v1")}/a`)).json as ApiObject;
  const updated = { ...named("v1"), metadata, spec: { size: 3, note: "n" } };
  assert.equal((await server.call("PUT", `${at("v1")}/a?fieldManager=eve`, updated)).code, 200);
  assert.deepEqual(await owners(), { ann: "f:note", eve: "f:size" });
});

test("objects are selected by the fields and labels of the version that is asked for", async () => {
  const hook = hookOf();
  await using server = await testServer({ webhooks: hook });
  await install(server);
  hook.answer = (review) => {
    const answer = convert(review) as { readonly response: { readonly convertedObjects: ApiObject[] } };
    for (const { metadata, spec } of answer.response.convertedObjects)
      Object.assign(metadata, { labels: { parity: ((spec?.size ?? spec?.amount) as number) % 2 ? "odd" : "even" } });
    return answer;
  };
  const change = async (name: string, spec: object) => {
    const type = { "content-type": "application/merge-patch+json" };
    assert.equal((await server.call("PATCH", `${at("v1")}/${name}`, { spec }, type)).code, 200);
  };
  for (const [i, name] of ["a", "b", "c", "d", "e", "f"].entries())
    await server.call("POST", at("v1"), { ...named("v1"), metadata: { name }, spec: { size: i % 3 } });
  const names = async (query: string): Promise<string> => {
    const { json } = await server.call("GET", `${at("v2")}?${query}`);
    return (json.items as ApiObject[]).map(({ metadata }) => metadata.name).join("");
  };
  assert.equal(await names("fieldSelector=spec.amount%3D1"), "be");
  assert.equal(await names("fieldSelector=spec.amount%21%3D1"), "acdf");
  assert.equal(await names("labelSelector=parity%3Dodd"), "be");
  assert.equal(await names("fieldSelector=spec.amount%3D1,metadata.name%3De"), "e");
  const unknown = await server.call("GET", `${at("v2")}?fieldSelector=spec.size%3D1`);
  assert.deepEqual([unknown.code, unknown.json.message], [400, "field label not supported: spec.size"]);

  const seen: string[] = [];
  for (let token = ""; ; ) {
    const { json } = await server.call("GET", `${at("v2")}?fieldSelector=spec.amount%3D2&limit=1&continue=${token}`);
    seen.push((json.items as ApiObject[]).map(({ metadata }) => metadata.name).join(""));
    token = encodeURIComponent(json.metadata.continue ?? "");
    if (token === "") break;
  }
  assert.deepEqual(seen, ["c", "f"]);

  const { json: all } = await server.call("GET", at("v2"));
  const from = `resourceVersion=${all.metadata.resourceVersion}`;
  const watch = await server.watch(`${at("v2")}?watch=1&${from}&fieldSelector=spec.amount%3D1`);
  await change("a", { size: 1 }); // begins to match
  await change("c", { size: 7 }); // never did
  await change("b", { note: "n" });
  await change("e", { size: 2 }); // ceases to
  await server.call("DELETE", `${at("v1")}/f`);
  await server.call("DELETE", `${at("v1")}/a`);
  const told: string[] = [];
  while (told.length < 4) {
    const { type, object } = (await watch.next()).value as { readonly type: string; readonly object: ApiObject };
    assert.equal(object.apiVersion, "cargo.example/v2");
    told.push(`${type} ${object.metadata.name} ${object.spec?.amount}`);
  }
  assert.deepEqual(told, ["ADDED a 1", "MODIFIED b 1", "DELETED e 1", "DELETED a 1"]);

  const gone = await server.call("DELETE", `${at("v2")}?fieldSelector=spec.amount%3D2`);
  assert.deepEqual(
    (gone.json.items as ApiObject[]).map(({ metadata }) => metadata.name),
    ["e"],
  );
  assert.equal(await names(""), "bcd");
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
