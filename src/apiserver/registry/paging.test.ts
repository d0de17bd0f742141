import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../testing.ts";

const maps = "/api/v1/namespaces/dev/configmaps";

async function serverWithMaps(count: number): Promise<TestServer> {
  const s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "dev" } });
  for (let i = 0; i < count; i++) await s.call("POST", maps, { metadata: { name: `m${i}`, labels: { a: "b" } } });
  return s;
}

const namesOf = (items: readonly { readonly metadata: { readonly name: string } }[]) =>
  items.map(({ metadata }) => metadata.name);

test("a list whose revision is gone can go on with the token of the refusal, by key and counted", async () => {
  await using s = await serverWithMaps(6);
  const first = (await s.call("GET", `${maps}?limit=2`)).json;
  await s.call("DELETE", `${maps}/m3`);
  await s.call("POST", maps, { metadata: { name: "m9" } });
  await s.store.compact(await s.store.revision());
  const gone = await s.call("GET", `${maps}?limit=2&continue=${first.metadata.continue}`);
  assert.deepEqual([gone.code, gone.json.reason], [410, "Expired"]);
  assert.match(gone.json.message, /use the continue token in this response to retrieve the remainder of the results/);
  const second = (await s.call("GET", `${maps}?limit=2&continue=${gone.json.metadata.continue}`)).json;
  assert.deepEqual([namesOf(second.items), second.metadata.remainingItemCount], [["m2", "m4"], 2]);
  const third = (await s.call("GET", `${maps}?limit=2&continue=${second.metadata.continue}`)).json;
  assert.deepEqual([namesOf(third.items), third.metadata.continue], [["m5", "m9"], undefined]);
});

test("a list at a revision that is gone says so", async () => {
  await using s = await serverWithMaps(2);
  const { resourceVersion } = (await s.call("GET", maps)).json.metadata;
  await s.call("DELETE", `${maps}/m1`);
  await s.store.compact(await s.store.revision());
  const { code, json } = await s.call("GET", `${maps}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
  assert.deepEqual([code, json.message], [410, "The resourceVersion for the provided list is too old."]);
});

test("questions that contradict themselves are refused in upstream's words", async () => {
  await using s = await serverWithMaps(3);
  const token = (await s.call("GET", `${maps}?limit=1`)).json.metadata.continue;
  const notNumber = (text: string) => `strconv.ParseUint: parsing "${text}": invalid syntax`;
  const match = "resourceVersionMatch is forbidden when continue is provided";
  const table: readonly (readonly [query: string, code: number, message: string])[] = [
    [`continue=${token}&resourceVersion=5`, 400, "specifying resource version is not allowed when using continue"],
    [
      "continue=abc",
      400,
      "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
    ],
    ["limit=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    ["resourceVersion=x", 400, `invalid resource version: resourceVersion: Invalid value: "x": ${notNumber("x")}`],
    ["watch=1&resourceVersion=x", 500, `resourceVersion: Invalid value: "x": ${notNumber("x")}`],
    ["watch=1&continue=abc", 422, `ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: ${match}`],
  ];
  for (const [query, code, message] of table) {
    const answer = await s.call("GET", `${maps}?${query}`);
    assert.deepEqual([answer.code, answer.json.message], [code, message], query);
  }
  for (const [method, path] of [
    ["POST", maps],
    ["DELETE", `${maps}/m0`],
  ] as const) {
    const { code, json } = await s.call(method, `${path}?dryRun=Some`, method === "POST" ? {} : undefined);
    assert.deepEqual(
      [code, json.details.causes[0].message],
      [422, 'Unsupported value: ["Some"]: supported values: "All"'],
    );
  }
});

test("a list at revision 0 has no pages", async () => {
  await using s = await serverWithMaps(4);
  const { metadata, items } = (await s.call("GET", `${maps}?limit=2&resourceVersion=0`)).json;
  assert.deepEqual([items.length, metadata.continue, metadata.remainingItemCount], [4, undefined, undefined]);
});
