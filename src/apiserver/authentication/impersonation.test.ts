import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const users = {
  bob: { name: "bob", groups: ["system:authenticated"] },
  agent: {
    name: "system:serviceaccount:web:agent",
    groups: ["system:serviceaccounts", "system:authenticated"],
    extra: { "authentication.kubernetes.io/node-name": ["n1"] },
  },
};
const rule = (verbs: string, resources: string, group: string, more: object = {}) => ({
  verbs: verbs.split(" "),
  apiGroups: [group],
  resources: resources.split(" "),
  ...more,
});

/** A server on which bob and the agent may do what the rules say. */
async function server(...rules: readonly object[]) {
  const s = await testServer({ users, authorizers: ({ rbac: own }) => [own] });
  const review = rule("create", "selfsubjectreviews", "authentication.k8s.io");
  await s.call("POST", `${rbac}/clusterroles`, { metadata: { name: "r" }, rules });
  await s.call("POST", `${rbac}/clusterroles`, { metadata: { name: "all" }, rules: [review] });
  const subjects = [
    { kind: "User", name: "bob" },
    { kind: "ServiceAccount", name: "agent", namespace: "web" },
  ];
  const roleRef = (name: string) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name });
  await s.call("POST", `${rbac}/clusterrolebindings`, { metadata: { name: "r" }, roleRef: roleRef("r"), subjects });
  const everyone = ["system:authenticated", "system:unauthenticated", "x"].map((name) => ({ kind: "Group", name }));
  await s.call("POST", `${rbac}/clusterrolebindings`, {
    metadata: { name: "all" },
    roleRef: roleRef("all"),
    subjects: everyone,
  });
  const as = async (headers: Readonly<Record<string, string>>, token = "bob") => {
    const { code, json } = await s.call("POST", self, {}, { authorization: `Bearer ${token}`, ...headers });
    return code === 201 ? json.status.userInfo : `${code} ${json.message}`;
  };
  return Object.assign(s, { as });
}
const onReview = (mode: string) => rule(`impersonate-on:${mode}:create`, "selfsubjectreviews", "authentication.k8s.io");

const refused = (
  verb: string,
  resource: string,
  name: string,
  group: string,
  why = "",
  place = "at the cluster scope",
) =>
  `403 ${resource.split("/")[0]}${group && `.${group}`} ${JSON.stringify(name)} is forbidden: User "bob" cannot ${verb} resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} ${place}${why}`;
const refusedOn = (mode: string) =>
  `403 selfsubjectreviews.authentication.k8s.io is forbidden: User "bob" cannot impersonate-on:${mode}:create resource "selfsubjectreviews" in API group "authentication.k8s.io" at the cluster scope`;

test("who may impersonate becomes the other, with the groups that come with the name", async () => {
  await using s = await server(
    rule("impersonate", "users groups serviceaccounts", ""),
    rule("impersonate", "uids userextras/acme.io/team", "authentication.k8s.io"),
  );
  const all = {
    "impersonate-user": "ann",
    "impersonate-group": "devs",
    "impersonate-uid": "7",
    "impersonate-extra-acme.io%2fteam": "a",
  };
  const table: readonly [Readonly<Record<string, string>>, unknown][] = [
    [{ "impersonate-user": "ann" }, { username: "ann", groups: ["system:authenticated"] }],
    [all, { username: "ann", uid: "7", groups: ["devs", "system:authenticated"], extra: { "acme.io/team": ["a"] } }],
    [
      { "impersonate-user": "system:serviceaccount:web:robot" },
      {
        username: "system:serviceaccount:web:robot",
        groups: ["system:serviceaccounts", "system:serviceaccounts:web", "system:authenticated"],
      },
    ],
    [
      { "impersonate-user": "system:serviceaccount:web:robot", "impersonate-group": "x" },
      { username: "system:serviceaccount:web:robot", groups: ["x", "system:authenticated"] },
    ],
    [{ "impersonate-user": "system:node:n1" }, { username: "system:node:n1", groups: ["system:authenticated"] }],
    [{ "impersonate-user": "system:anonymous" }, { username: "system:anonymous", groups: ["system:unauthenticated"] }],
    [
      { "impersonate-user": "ann", "impersonate-group": "system:unauthenticated" },
      { username: "ann", groups: ["system:unauthenticated"] },
    ],
    // The plain way knows no bounds: who may take on any group may take on the one that may do everything.
    [
      { "impersonate-user": "ann", "impersonate-group": "system:masters" },
      { username: "ann", groups: ["system:masters", "system:authenticated"] },
    ],
  ];
  for (const [headers, expected] of table) assert.deepEqual(await s.as(headers), expected);
});

test("each thing that is taken on must be permitted, and the refusal is upstream's", async () => {
  await using s = await server(
    rule("impersonate:user-info", "users", "authentication.k8s.io", { resourceNames: ["ann"] }),
    rule("impersonate:user-info", "groups", "authentication.k8s.io", { resourceNames: ["devs"] }),
    onReview("user-info"),
  );
  const mode = "impersonate:user-info";
  const group = "authentication.k8s.io";
  const ann = { "impersonate-user": "ann" };
  const table: readonly [Readonly<Record<string, string>>, unknown][] = [
    [
      { ...ann, "impersonate-group": "devs" },
      { username: "ann", groups: ["devs", "system:authenticated"] },
    ],
    [{ "impersonate-user": "eve" }, refused(mode, "users", "eve", group)],
    [{ ...ann, "impersonate-group": "ops" }, refused(mode, "groups", "ops", group)],
    [{ ...ann, "impersonate-uid": "7" }, refused(mode, "uids", "7", group)],
    [{ ...ann, "impersonate-extra-acme.io%2fteam": "a" }, refused(mode, "userextras/acme.io/team", "a", group)],
    [
      { ...ann, "impersonate-group": "system:masters" },
      refused(mode, "groups", "system:masters", group, ": impersonating the system:masters group is not allowed"),
    ],
    [{ "impersonate-user": "system:serviceaccount:web:robot" }, refusedOn("serviceaccount")],
    [{ "impersonate-user": "system:node:n1" }, refusedOn("arbitrary-node")],
    [
      { "impersonate-user": "system:node:n1", "impersonate-group": "system:nodes" },
      refused("impersonate", "users", "system:node:n1", ""),
    ],
    [
      { "impersonate-user": "system:serviceaccount:web:robot", "impersonate-group": "x" },
      '403 serviceaccounts "robot" is forbidden: User "bob" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "web"',
    ],
    [
      { "impersonate-group": "devs" },
      '400 requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} without impersonating a user name',
    ],
  ];
  for (const [headers, expected] of table) assert.deepEqual(await s.as(headers), expected, JSON.stringify(headers));
});

test("without any permission nobody becomes anybody", async () => {
  await using s = await server(rule("get", "pods", ""));
  assert.equal(await s.as({ "impersonate-user": "ann" }), refusedOn("user-info"));
  assert.equal(
    await s.as({ "impersonate-user": "ann", "impersonate-group": "system:masters" }),
    refusedOn("user-info"),
  );
  const { code, json } = await s.call("GET", "/version", undefined, {
    authorization: "Bearer bob",
    "impersonate-user": "ann",
  });
  assert.deepEqual(
    [code, json.message],
    [403, 'forbidden: User "bob" cannot impersonate-on:user-info:get path "/version"'],
  );
});

test("who may impersonate users as well as nodes gets no group of nodes without asking for it", async () => {
  await using s = await server(
    rule("impersonate", "users groups", ""),
    rule("impersonate:arbitrary-node", "nodes", "authentication.k8s.io"),
    onReview("arbitrary-node"),
  );
  const asNode = { "impersonate-user": "system:node:n1" };
  const onlyKnown = { username: "system:node:n1", groups: ["system:authenticated"] };
  assert.deepEqual(await s.as(asNode), onlyKnown);
  assert.deepEqual(await s.as({ ...asNode, "impersonate-group": "system:nodes" }), {
    username: "system:node:n1",
    groups: ["system:nodes", "system:authenticated"],
  });
  assert.deepEqual(await s.as(asNode), onlyKnown);
});

test("an agent may act as its own node, and as no other", async () => {
  await using s = await server(
    rule("impersonate:associated-node", "nodes", "authentication.k8s.io"),
    onReview("associated-node"),
  );
  assert.deepEqual(await s.as({ "impersonate-user": "system:node:n1" }, "agent"), {
    username: "system:node:n1",
    groups: ["system:nodes", "system:authenticated"],
  });
  assert.match(
    await s.as({ "impersonate-user": "system:node:n2" }, "agent"),
    /^403 .*impersonate-on:arbitrary-node:create/,
  );
  assert.match(
    await s.as({ "impersonate-user": "system:node:n1" }, "bob"),
    /^403 .*impersonate-on:arbitrary-node:create/,
  );
});

test("what is done as another is judged by what the other may do", async () => {
  await using s = await server(rule("impersonate", "users", ""), rule("list", "pods", ""));
  const list = async (headers: Readonly<Record<string, string>>) =>
    (await s.call("GET", "/api/v1/pods", undefined, { authorization: "Bearer bob", ...headers })).json;
  assert.equal((await list({})).kind, "PodList");
  assert.equal(
    (await list({ "impersonate-user": "ann" })).message,
    'pods is forbidden: User "ann" cannot list resource "pods" in API group "" at the cluster scope',
  );
});

test("connections are judged by who acts, too", async () => {
  await using s = await server(
    rule("impersonate", "users", ""),
    rule("get create", "pods/log pods/exec pods/proxy", ""),
  );
  const message = async (subresource: string) => {
    const path = `/api/v1/namespaces/web/pods/p/${subresource}`;
    const headers = { authorization: "Bearer bob", "impersonate-user": "ann" };
    return (await s.call("GET", path, undefined, headers)).json.message;
  };
  for (const subresource of ["log", "exec", "proxy"])
    assert.equal(
      await message(subresource),
      `pods "p" is forbidden: User "ann" cannot get resource "pods/${subresource}" in API group "" in the namespace "web"`,
    );
});
