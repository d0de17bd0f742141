// Every resource of discovery, with its subresources, connections and reviews, asked for in the wrong scope: below a namespace
// where it has none, and outside of one where it needs one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Node } from "#api/core/v1/node.ts";
import { type TestServer, testServer } from "./testing.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const users = { owner: { name: "owner", groups: ["system:authenticated"] } };
const asOwner = { authorization: "Bearer owner" };
const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
const subjects = [{ kind: "User", name: "owner" }];

/** A server whose user `owner` may do everything in the namespace dev, and nothing elsewhere. */
async function serverWithOwner(): Promise<TestServer> {
  const s = await testServer({ users, authorizers: (own) => [own.rbac], bootstrapPolicy: true });
  const make = async (path: string, body: object) => assert.equal((await s.call("POST", path, body)).code, 201, path);
  for (const name of ["dev", "prod", "undefined"]) await make("/api/v1/namespaces", { metadata: { name } });
  await make(`${rbac}/namespaces/dev/rolebindings`, { metadata: { name: "owner" }, roleRef, subjects });
  await make("/api/v1/nodes", { metadata: { name: "here" } });
  for (const namespace of ["dev", "prod", "undefined"])
    await make(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: "here" } });
  return s;
}

interface Resource {
  readonly base: string;
  readonly name: string;
  readonly subresource: string | undefined;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** What discovery tells of: all kinds and their subresources, those that are connections among them, and all reviews. */
async function resourcesOf(s: TestServer): Promise<readonly Resource[]> {
  const groups = (await s.call("GET", "/apis")).json.groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
    group.versions.map(({ groupVersion }) => `/apis/${groupVersion}`),
  );
  const all: Resource[] = [];
  for (const base of ["/api/v1", ...groups])
    for (const { name: path, namespaced, verbs } of (await s.call("GET", base)).json.resources) {
      const [name, subresource] = path.split("/");
      all.push({ base, name, subresource, namespaced, verbs });
    }
  assert.ok(all.length > 100 && all.some(({ subresource }) => subresource === "exec"), `${all.length} resources`);
  return all;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const patch = { "content-type": "application/merge-patch+json" };
const apply = { "content-type": "application/apply-patch+yaml" };

/** Each way to ask for the resource whose collection is at `collection`. */
function requestsTo({ subresource }: Resource, collection: string) {
  const item = `${collection}/here`;
  const paths = subresource
    ? [`${item}/${subresource}`, `${item}/${subresource}/`, `${item}/${subresource}/more/x`]
    : [collection, `${collection}/`, `${collection}?watch=1&timeoutSeconds=1`, item, `${item}?watch=1`];
  return paths.flatMap((path) =>
    methods.flatMap((method) =>
      (method === "PATCH" ? [patch, apply] : [{}]).map((headers) => ({ method, path, headers })),
    ),
  );
}

const state = async ({ store }: TestServer) =>
  (await store.list("/", {})).entries.map(({ key, modified }) => `${key}@${modified}`);

test("a cluster-scoped resource has no path below a namespace, whoever asks", async () => {
  await using s = await serverWithOwner();
  const before = await state(s);
  for (const resource of await resourcesOf(s)) {
    const { base, name, subresource, namespaced } = resource;
    // The subresources of a namespace lie below it by their own right.
    if (namespaced || (name === "namespaces" && subresource)) continue;
    const requests = [
      ...requestsTo(resource, `${base}/namespaces/dev/${name}`),
      ...requestsTo(resource, `${base}/watch/namespaces/dev/${name}`),
    ];
    for (const { method, path, headers } of requests)
      for (const user of [asOwner, {}]) {
        const { code, json } = await s.call(method, path, undefined, { ...headers, ...user });
        assert.equal(code, 404, `${method} ${path}`);
        assert.equal(json.message, "the server could not find the requested resource", `${method} ${path}`);
      }
  }
  assert.deepEqual(await state(s), before);
});

test("a namespaced resource can be listed and watched outside of a namespace, and nothing else", async () => {
  await using s = await serverWithOwner();
  const before = await state(s);
  for (const resource of await resourcesOf(s)) {
    const { base, name, subresource, namespaced, verbs } = resource;
    if (!namespaced) continue;
    for (const { method, path, headers } of requestsTo(resource, `${base}/${name}`)) {
      const isCollection = !subresource && !path.includes("/here");
      const isRead = isCollection && method === "GET" && verbs.includes("list");
      if (isRead && path.includes("watch")) continue;
      const expected = isRead ? 200 : isCollection && verbs.includes("list") ? 405 : 404;
      assert.equal((await s.call(method, path, undefined, headers)).code, expected, `${method} ${path}`);
      const own = await s.call(method, path, undefined, { ...headers, ...asOwner });
      assert.equal(own.code, 403, `${method} ${path} by the owner of one namespace`);
    }
  }
  assert.deepEqual(await state(s), before);
});

test("the owner of a namespace cannot become the owner of the cluster by a path of it", async () => {
  await using s = await serverWithOwner();
  const binding = { metadata: { name: "pwn" }, roleRef, subjects };
  const { code } = await s.call("POST", `${rbac}/namespaces/dev/clusterrolebindings`, binding, asOwner);
  assert.equal(code, 404);
  assert.equal((await s.call("GET", `${rbac}/clusterrolebindings/pwn`)).code, 404);
  assert.equal((await s.call("GET", "/api/v1/namespaces/prod/configmaps/here", undefined, asOwner)).code, 403);
  assert.equal((await s.call("GET", "/api/v1/namespaces/dev/configmaps/here", undefined, asOwner)).code, 200);
});

test("parts of the same process meet the same routes", async () => {
  await using s = await serverWithOwner();
  const ask = (kind: typeof Node | typeof ConfigMap, address: object, verb: "get" | "list" | "deletecollection") => {
    const { group, version, plural: resource } = kind;
    const user = { name: "part", groups: ["system:masters"] };
    const { signal } = new AbortController();
    const query = new URLSearchParams();
    const request = { group, version, resource, ...address, verb, user, query, userAgent: "", signal };
    return s.server.request(request);
  };
  await assert.rejects(ask(Node, { namespace: "dev", name: "here" }, "get"), { reason: "NotFound" });
  await assert.rejects(ask(ConfigMap, { name: "here" }, "get"), { reason: "NotFound" });
  await assert.rejects(ask(ConfigMap, {}, "deletecollection"), { reason: "MethodNotAllowed" });
  assert.equal((await ask(ConfigMap, {}, "list")).type, "list");
});

test("every name that can be stored can be asked for and deleted by its path", async () => {
  await using s = await serverWithOwner();
  const characters = Array.from({ length: 0x100 }, (_, code) => String.fromCharCode(code));
  for (const name of [...[...characters, "ж", "😀", "..", "%2f", "%00"].map((one) => `a${one}b`), ".", ".."]) {
    const { code } = await s.call("POST", `${rbac}/clusterroles`, { metadata: { name } });
    assert.ok(code === 201 || code === 422, `${JSON.stringify(name)}: ${code}`);
    if (code !== 201) continue;
    const path = `${rbac}/clusterroles/${encodeURIComponent(name)}`;
    assert.equal((await s.call("GET", path)).code, 200, path);
    assert.equal((await s.call("DELETE", path)).code, 200, path);
  }
});
