// Names that every JavaScript object inherits, at every place of a request where a name looks something up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Log, silentLog } from "#base/log.ts";
import { type TestServer, testServer } from "./testing.ts";

const inherited = Object.getOwnPropertyNames(Object.prototype); // constructor, __proto__, toString, hasOwnProperty, …
const merge = { "content-type": "application/merge-patch+json" };
const pod = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } };
const crypto = { sign: async () => "a.b.c", verify: async () => undefined, keySet: { keys: [] } };

/** A server with a pod and an account, and the bugs that it logs. */
async function server(): Promise<TestServer & { readonly bugs: string[] }> {
  const bugs: string[] = [];
  const log = { ...silentLog, error: (message: string, fields?: object) => void bugs.push(`${message} ${fields}`) };
  const s = await testServer({
    log: log as Log,
    serviceAccounts: { keys: crypto as never, issuers: ["https://issuer"], extendExpiration: false },
  });
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "n" } });
  await s.call("POST", "/api/v1/namespaces/n/pods", pod);
  await s.call("POST", "/api/v1/namespaces/n/serviceaccounts", { metadata: { name: "a" } });
  return Object.assign(s, { bugs });
}

type Place = (name: string) => readonly [method: string, path: string, body?: unknown, headers?: object];
const pods = "/api/v1/namespaces/n/pods";

/** Every place where a client's word is looked up, with the codes that are right for a word without meaning. */
const places: Readonly<Record<string, readonly [codes: readonly number[], place: Place]>> = {
  group: [[404], (name) => ["GET", `/apis/${name}/v1/pods`]],
  version: [[404], (name) => ["GET", `/api/${name}/pods`]],
  resource: [[404], (name) => ["GET", `/api/v1/namespaces/n/${name}`]],
  "cluster-scoped resource": [[404], (name) => ["GET", `/api/v1/${name}/x`]],
  subresource: [[404], (name) => ["GET", `${pods}/p/${name}`]],
  "subresource of a write": [[404], (name) => ["PUT", `${pods}/p/${name}`, pod]],
  "subresource of a patch": [[404], (name) => ["PATCH", `${pods}/p/${name}`, {}, merge]],
  method: [[405], (name) => [name, pods]],
  "media type of a body": [[415], (name) => ["POST", pods, pod, { "content-type": name }]],
  "media type of a patch": [[415], (name) => ["PATCH", `${pods}/p`, {}, { "content-type": name }]],
  "media type of an answer": [[406], (name) => ["GET", pods, undefined, { accept: name }]],
  "form of an answer": [
    [406],
    (name) => ["GET", pods, undefined, { accept: `application/json;as=${name};v=v1;g=meta.k8s.io` }],
  ],
  "content encoding": [[200], (name) => ["GET", pods, undefined, { "accept-encoding": name }]],
  "query option": [[200], (name) => ["GET", `${pods}?${name}=x`]],
  "field selector": [[400], (name) => ["GET", `${pods}?fieldSelector=${name}%3Dx`]],
  "label selector": [[200, 400], (name) => ["GET", `${pods}?labelSelector=${name}`]],
  "object in tables": [[400], (name) => ["GET", `${pods}?includeObject=${name}`, undefined, { accept: table }]],
  "match of a resource version": [[422], (name) => ["GET", `${pods}?resourceVersion=1&resourceVersionMatch=${name}`]],
  "dry run": [[422], (name) => ["POST", `${pods}?dryRun=${name}`, pod]],
  "field validation": [[422], (name) => ["POST", `${pods}?fieldValidation=${name}`, pod]],
  propagation: [[422], (name) => ["DELETE", `${pods}/p?propagationPolicy=${name}&dryRun=All`]],
  name: [[404], (name) => ["GET", `${pods}/${name}`]],
  namespace: [[404], (name) => ["GET", `/api/v1/namespaces/${name}/pods/p`]],
  "unknown field": [[400], (name) => ["POST", `${pods}?fieldValidation=Strict&dryRun=All`, `{"${name}":1}`]],
  "kind of a body": [[400], (name) => ["POST", pods, { kind: name, apiVersion: "v1", ...pod }]],
  "version of a body": [[400], (name) => ["POST", pods, { kind: "Pod", apiVersion: name, ...pod }]],
  "kind that a token is bound to": [
    [400, 422],
    (name) => [
      "POST",
      "/api/v1/namespaces/n/serviceaccounts/a/token",
      { spec: { audiences: [], boundObjectRef: { kind: name, apiVersion: "v1", name: "x" } } },
    ],
  ],
  "kind of a scale's owner": [[404], (name) => ["GET", `/apis/apps/v1/namespaces/n/deployments/${name}/scale`]],
  "health check": [[404], (name) => ["GET", `/healthz/${name}`]],
  "version of OpenAPI": [[404], (name) => ["GET", `/openapi/v3/${name}`]],
  "path of ours": [[404], (name) => ["GET", `/knarr/v1/${name}`]],
  path: [[404], (name) => ["GET", `/${name}`]],
};
const table = "application/json;as=Table;v=v1;g=meta.k8s.io";

test("a name that all objects inherit means no more than any other unknown name, wherever it stands", async () => {
  await using s = await server();
  for (const [where, [codes, place]] of Object.entries(places))
    for (const name of [...inherited, "unknown"]) {
      const [method, path, body, headers = {}] = place(name);
      const { code } = await s.call(method, path, body, headers as Record<string, string>);
      assert.ok(codes.includes(code), `${where}: ${method} ${path} with ${name}: ${code}`);
    }
  assert.deepEqual(s.bugs, []);
});
