import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "#serving/authorization.ts";
import type { User } from "#wire/api-request.ts";
import { staticTokens } from "../authentication/token-authenticators.ts";
import { type TestServer, testServer } from "../testing.ts";

const ann: User = { name: "ann", uid: "7", groups: ["devs", "system:authenticated"], extra: { team: ["a"] } };
const authentication = "/apis/authentication.k8s.io/v1";
const authorization = "/apis/authorization.k8s.io/v1";
const info = { username: "ann", uid: "7", groups: ["devs", "system:authenticated"], extra: { team: ["a"] } };

test("a client learns who it is to the server", async () => {
  await using server = await testServer({ authenticators: [async () => ann] });
  const { code, json } = await server.call("POST", `${authentication}/selfsubjectreviews`, {});
  assert.equal(code, 201);
  assert.deepEqual(json, {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { userInfo: info },
  });
});

test("a token is known by those that authenticate with it", async () => {
  await using server = await testServer({
    authenticators: [async () => ann],
    tokens: [staticTokens('secret,ann,7,"devs"', ["https://kubernetes.default.svc"])],
  });
  const review = async (token?: string) => {
    const { code, json } = await server.call("POST", `${authentication}/tokenreviews`, { spec: { token } });
    return [code, json.status];
  };
  const { extra: _extra, ...known } = info;
  assert.deepEqual(await review("secret"), [
    201,
    { authenticated: true, user: known, audiences: ["https://kubernetes.default.svc"] },
  ]);
  for (const wrong of ["other", "two words", "a\nb"])
    assert.deepEqual(await review(wrong), [201, { user: {}, error: "invalid bearer token" }]);
  const missing = await server.call("POST", `${authentication}/tokenreviews`, { spec: {} });
  assert.deepEqual([missing.code, missing.json.message], [400, "token is required for TokenReview in authentication"]);
});

test("access reviews ask the authorizers what would be asked if it were done", async () => {
  const asked: Question[] = [];
  await using server = await testServer({
    authenticators: [async () => ann],
    authorizers: () => [
      (question) => {
        if (question.type === "resource" && question.group === "authorization.k8s.io") return { decision: "allow" };
        asked.push(question);
        if (question.verb === "get") return { decision: "allow", reason: "reading is free" };
        return question.verb === "delete" ? { decision: "deny", reason: "never" } : { decision: "none" };
      },
    ],
  });
  const ask = async (path: string, body: object) => {
    const { code, json } = await server.call("POST", `${authorization}/${path}`, body);
    assert.equal(code, 201, JSON.stringify(json));
    return json.status;
  };
  const pods = { verb: "get", resource: "pods", namespace: "a", name: "x", subresource: "log" };
  assert.deepEqual(await ask("selfsubjectaccessreviews", { spec: { resourceAttributes: pods } }), {
    allowed: true,
    reason: "reading is free",
  });
  assert.deepEqual(
    await ask("selfsubjectaccessreviews", { spec: { nonResourceAttributes: { verb: "delete", path: "/x" } } }),
    { allowed: false, denied: true, reason: "never" },
  );
  const bob = { user: "bob", groups: ["ops"], uid: "9", extra: { a: ["b"] } };
  assert.deepEqual(
    await ask("subjectaccessreviews", { spec: { ...bob, resourceAttributes: { verb: "list", resource: "nodes" } } }),
    { allowed: false },
  );
  const here = { spec: { user: "bob", resourceAttributes: { verb: "get", namespace: "a", resource: "pods" } } };
  assert.equal((await ask("namespaces/a/localsubjectaccessreviews", here)).allowed, true);
  const [first, second, third] = asked;
  assert.deepEqual(first, { type: "resource", user: ann, group: "", version: "", ...pods });
  assert.deepEqual(second, { type: "path", user: ann, verb: "delete", path: "/x" });
  assert.deepEqual(third?.user, { name: "bob", groups: ["ops"], uid: "9", extra: { a: ["b"] } });
});

test("reviews without sense are refused in upstream's words", async () => {
  await using server = await testServer();
  const cases: readonly [string, object, number, string][] = [
    [
      "selfsubjectaccessreviews",
      { spec: {} },
      422,
      "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
    ],
    [
      "subjectaccessreviews",
      { spec: { resourceAttributes: { verb: "get" } } },
      422,
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    ],
    [
      "namespaces/a/localsubjectaccessreviews",
      { spec: { user: "x", resourceAttributes: { namespace: "b", verb: "get" } } },
      422,
      'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
    ],
    [
      "namespaces/a/localsubjectaccessreviews",
      { metadata: { namespace: "b" }, spec: { user: "x", resourceAttributes: { namespace: "b", verb: "get" } } },
      400,
      "spec.resourceAttributes.namespace must match namespace: a",
    ],
    ["selfsubjectrulesreviews", { spec: {} }, 400, "no namespace on request"],
  ];
  for (const [path, body, code, text] of cases) {
    const answer = await server.call("POST", `${authorization}/${path}`, body);
    assert.equal(answer.code, code, answer.text);
    assert.ok(String(answer.json.message).endsWith(text), `${answer.json.message}\n${text}`);
    if (code === 422) assert.match(answer.json.message, /^\.authorization\.k8s\.io "" is invalid: /); // names no kind
  }
  for (const method of ["GET", "PUT", "DELETE"])
    assert.equal((await server.call(method, `${authorization}/subjectaccessreviews`, {})).code, 405);
});

test("a rules review knows all or says that it does not", async () => {
  const rules = async (server: TestServer) =>
    (await server.call("POST", `${authorization}/selfsubjectrulesreviews`, { spec: { namespace: "a" } })).json.status;
  await using open = await testServer();
  assert.deepEqual(await rules(open), {
    resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    incomplete: false,
  });
  await using closed = await testServer({
    authenticators: [async () => ann],
    authorizers: () => [({ verb }) => ({ decision: verb === "create" ? "allow" : "none" })],
  });
  assert.deepEqual(await rules(closed), { resourceRules: [], nonResourceRules: [], incomplete: true });
});

test("a rules review lists what roles allow", async () => {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await using server = await testServer({ users: { ann }, authorizers: (own) => [own.rbac] });
  const reading = { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["x"] };
  const asking = { verbs: ["create"], apiGroups: ["authorization.k8s.io"], resources: ["*"] };
  const paths = { verbs: ["get"], nonResourceURLs: ["/healthz"] };
  await server.call("POST", `${rbac}/clusterroles`, { metadata: { name: "r" }, rules: [reading, asking, paths] });
  await server.call("POST", `${rbac}/clusterrolebindings`, {
    metadata: { name: "b" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "ann" }],
  });
  const { json } = await server.call(
    "POST",
    `${authorization}/selfsubjectrulesreviews`,
    { spec: { namespace: "a" } },
    { authorization: "Bearer ann" },
  );
  assert.deepEqual(json.status, {
    resourceRules: [reading, asking],
    nonResourceRules: [paths],
    incomplete: false,
  });
});

test("components tell how they are when asked", async () => {
  const failing = async () => {
    throw new Error("connection refused");
  };
  await using server = await testServer({ components: [{ name: "scheduler", check: failing }] });
  const { json } = await server.call("GET", "/api/v1/componentstatuses");
  assert.deepEqual(
    json.items.map(({ metadata, conditions }: never) => [metadata, conditions]),
    [
      [{ name: "scheduler" }, [{ type: "Healthy", status: "Unknown", error: "connection refused" }]],
      [{ name: "etcd-0" }, [{ type: "Healthy", status: "True", message: "ok" }]],
    ],
  );
  const named = await server.call("GET", "/api/v1/componentstatuses?fieldSelector=metadata.name%3Detcd-0");
  assert.equal(named.json.items.length, 1);
  const one = await server.call("GET", "/api/v1/componentstatuses/etcd-0");
  assert.deepEqual([one.code, one.json.kind, one.json.metadata.name], [200, "ComponentStatus", "etcd-0"]);
  const none = await server.call("GET", "/api/v1/componentstatuses/x");
  assert.deepEqual([none.code, none.json.message], [404, 'componentstatus "x" not found']);
  assert.equal((await server.call("DELETE", "/api/v1/componentstatuses/etcd-0")).code, 405);
  const table = await server.call("GET", "/api/v1/componentstatuses", undefined, {
    accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
  });
  assert.deepEqual(
    table.json.rows.map(({ cells }: { cells: unknown }) => cells),
    [
      ["scheduler", "Unhealthy", "", "connection refused"],
      ["etcd-0", "Healthy", "ok", ""],
    ],
  );
});

test("a pod can be bound by a binding that names it", async () => {
  await using server = await testServer();
  const spec = { containers: [{ name: "c", image: "i" }] };
  await server.call("POST", "/api/v1/namespaces/a/pods", { metadata: { name: "p" }, spec });
  const binding = { metadata: { name: "p" }, target: { kind: "Node", name: "n" } };
  const bound = await server.call("POST", "/api/v1/namespaces/a/bindings", binding);
  assert.deepEqual([bound.code, bound.json.status], [201, "Success"]);
  assert.equal((await server.call("GET", "/api/v1/namespaces/a/pods/p")).json.spec.nodeName, "n");
  const again = await server.call("POST", "/api/v1/namespaces/a/bindings", binding);
  assert.equal(
    again.json.message,
    'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n"',
  );
});

test("questions that come back with their answer are owned by who asked", async () => {
  await using server = await testServer();
  const owned = async (path: string, body: object) => {
    const { json } = await server.call("POST", `${path}?fieldManager=me`, body);
    return json.metadata.managedFields?.map(({ manager, fieldsV1 }) => [manager, fieldsV1]);
  };
  const spec = { user: "bob", nonResourceAttributes: { verb: "get", path: "/" } };
  const fields = { "f:spec": { "f:user": {}, "f:nonResourceAttributes": { ".": {}, "f:path": {}, "f:verb": {} } } };
  assert.deepEqual(await owned(`${authorization}/subjectaccessreviews`, { spec }), [["me", fields]]);
  const reviews = "/apis/authentication.k8s.io/v1";
  assert.deepEqual(await owned(`${reviews}/tokenreviews`, { spec: { token: "x" } }), [
    ["me", { "f:spec": { "f:token": {} } }],
  ]);
  assert.equal(await owned(`${reviews}/selfsubjectreviews`, {}), undefined);
});
