import assert from "node:assert/strict";
import { test } from "node:test";
import { MetricRegistry } from "#base/metrics.ts";
import type { Access, Delegation } from "#serving/delegated-access.ts";
import type { HttpRequest } from "#wire/http.ts";
import { type LineStore, linesPath, logApi, logsRoot } from "./api.ts";
import { formatBatch } from "./batch.ts";

const { signal } = new AbortController();

/** Bob may get the logs of pods in shop and of the pod named one in bank; the collector may add lines. */
const access: Delegation = {
  identify: ({ headers }) => ({ name: headers.user ?? "system:anonymous", groups: [] }),
  authorize: async (
    { name },
    { resourceAttributes: { verb, group, resource, subresource, namespace, name: pod } = {} }: Access,
  ) => {
    const what = [name, verb, group, resource, subresource, namespace, pod].map((word) => word ?? "").join(" ");
    const allowed = [
      "bob get  pods log shop ",
      "bob get  pods log shop web",
      "bob get  pods log bank one",
      "collector create logs.knarr.dev lines   ",
    ];
    return { decision: allowed.includes(what) ? "allow" : "none" };
  },
};

function served() {
  const asked: string[] = [];
  const store: LineStore = {
    append: async ({ lines }) => ({ stored: lines.length, known: 0 }),
    search: async (query) => {
      asked.push(
        String(
          query.selects({ node: "", namespace: "bank", pod: "one", uid: "", container: "", attempt: 0, labels: {} }),
        ),
      );
      return { lines: [], isLimited: false, end: { segment: 1, offset: 2 } };
    },
  };
  const failed = (error: unknown) => assert.fail(String(error));
  const handle = logApi({ store, access: () => access, metrics: new MetricRegistry(), failed });
  const ask = async (user: string, url: string, body?: string) => {
    const { pathname: path, searchParams: query } = new URL(url, "http://x");
    const request: HttpRequest = {
      method: body === undefined ? "GET" : "POST",
      ...{ path, query, url, signal, clientCertificate: undefined, remoteAddress: "" },
      headers: { user },
      body: async () => new TextEncoder().encode(body),
      content: (async function* () {
        yield new Uint8Array();
      })(),
    };
    const answer = await handle(request);
    return { code: answer.code, text: String(answer.body) };
  };
  return { ask, asked };
}

test("whoever may get pods/log in a namespace may search there, and nowhere else", async () => {
  const { ask, asked } = served();
  assert.equal((await ask("bob", linesPath("shop"))).code, 200);
  assert.equal((await ask("bob", `${linesPath("shop")}?pod=web`)).code, 200);
  assert.equal((await ask("bob", `${linesPath("bank")}?pod=one`)).code, 200);
  assert.deepEqual(asked, ["false", "false", "true"]); // the store is asked for that namespace alone
  for (const url of [
    linesPath("bank"),
    `${linesPath("bank")}?pod=two`,
    linesPath(undefined),
    `${linesPath("bank")}?pod=&pod=one`,
  ]) {
    const { code, text } = await ask("bob", url);
    assert.equal(code, 403, url);
    assert.match(text, /User \\"bob\\" cannot get resource \\"pods\/log\\"/);
  }
  assert.equal((await ask("eve", linesPath("shop"))).code, 403);
  assert.equal(asked.length, 3);
});

test("only who may create lines adds any, and what is no batch is refused", async () => {
  const { ask } = served();
  const batch = formatBatch("e", []);
  assert.equal((await ask("bob", linesPath(undefined), batch)).code, 403);
  assert.equal((await ask("collector", linesPath(undefined), batch)).code, 201);
  const wrong = ["", "[]", '{"epoch":"e","sources":[],"lines":[[0,1,"2026-01-01T00:00:00Z",0,0,"x"]]}', '{"epoch":1}'];
  for (const body of wrong) assert.equal((await ask("collector", linesPath(undefined), body)).code, 400, body);
});

test("other paths are not there, and the API says that it has no objects", async () => {
  const { ask } = served();
  assert.match((await ask("eve", logsRoot)).text, /"resources":\[\]/);
  for (const url of [`${logsRoot}/pods`, `${logsRoot}/namespaces/%zz/lines`, `${logsRoot}x`, "/"])
    assert.equal((await ask("bob", url)).code, 404, url);
});
