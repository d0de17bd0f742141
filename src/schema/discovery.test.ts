import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Catalog,
  compareVersions,
  groupDiscoveryList,
  servedGroups,
  storageVersionHash,
} from "./discovery.ts";
import { type KindRules, resource } from "./kind.ts";
import { structural } from "./structural/model.ts";

const kind = (group: string, version: string, name: string, more: Partial<KindRules<Record<string, never>>> = {}) =>
  resource({
    group,
    version,
    kind: name,
    plural: `${name.toLowerCase()}s`,
    scope: "Namespaced",
    doc: "",
    fields: {},
    ...more,
  });
const Scale = kind("autoscaling", "v1", "Scale");
const Pod = kind("", "v1", "Pod", {
  shortNames: ["po"],
  categories: ["all"],
  subresources: {
    status: true,
    exec: { kindName: "PodExecOptions", verbs: ["create", "get"] },
    scale: { replicas: "spec.replicas", current: "status.replicas" },
  },
});
const Review = kind("auth.k8s.io", "v1", "Review", { scope: "Cluster", stored: false, verbs: ["create"] });
const CronTab = kind("stable.example.com", "v1beta1", "CronTab", { model: structural({ type: "object" }) });
const catalog: Catalog = {
  kinds: [CronTab, Review, kind("stable.example.com", "v1", "CronTab"), Pod, kind("zoo.example.com", "v1", "Animal")],
  priorities: { "": { group: 18_000, versions: { v1: 1 } }, "auth.k8s.io": { group: 17_000, versions: { v1: 15 } } },
  Scale,
};

test("groups come by priority and then by name, versions with the preferred one first", () => {
  assert.deepEqual(
    servedGroups(catalog).map(({ group, versions }) => [group, ...versions.map(({ version }) => version)]),
    [
      ["", "v1"],
      ["auth.k8s.io", "v1"],
      ["stable.example.com", "v1", "v1beta1"],
      ["zoo.example.com", "v1"],
    ],
  );
});

test("versions are ordered by stage, then by number; names that are no versions come last", () => {
  const ordered = [
    "v10",
    "v2",
    "v1",
    "v11beta2",
    "v10beta3",
    "v3beta1",
    "v12alpha1",
    "v11alpha2",
    "foo1",
    "foo10",
    "v0",
  ];
  assert.deepEqual(ordered.toReversed().toSorted(compareVersions), ordered);
});

test("the core group has versions, the others are listed as groups", () => {
  assert.deepEqual(apiVersions("10.0.0.1:6443"), {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "10.0.0.1:6443" }],
  });
  const stable = { groupVersion: "stable.example.com/v1", version: "v1" };
  const group = {
    name: "stable.example.com",
    versions: [stable, { groupVersion: "stable.example.com/v1beta1", version: "v1beta1" }],
    preferredVersion: stable,
  };
  assert.deepEqual(apiGroup(catalog, "stable.example.com"), { kind: "APIGroup", apiVersion: "v1", ...group });
  assert.deepEqual(apiGroupList(catalog).groups[1], group);
  assert.equal(apiGroup(catalog, ""), undefined);
  assert.equal(apiGroup(catalog, "nowhere.example.com"), undefined);
});

test("resources and subresources are listed by name, each with its kind", () => {
  const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
  const three = ["get", "patch", "update"];
  assert.deepEqual(apiResourceList(catalog, "", "v1"), {
    kind: "APIResourceList",
    groupVersion: "v1",
    resources: [
      {
        name: "pods",
        singularName: "pod",
        namespaced: true,
        kind: "Pod",
        verbs,
        shortNames: ["po"],
        categories: ["all"],
        storageVersionHash: "xPOwRZ+Yhw8=",
      },
      { name: "pods/exec", singularName: "", namespaced: true, kind: "PodExecOptions", verbs: ["create", "get"] },
      {
        name: "pods/scale",
        singularName: "",
        namespaced: true,
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: three,
      },
      { name: "pods/status", singularName: "", namespaced: true, kind: "Pod", verbs: three },
    ],
  });
  assert.deepEqual(apiResourceList(catalog, "auth.k8s.io", "v1"), {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: "auth.k8s.io/v1",
    resources: [{ name: "reviews", singularName: "review", namespaced: false, kind: "Review", verbs: ["create"] }],
  });
  assert.equal(apiResourceList(catalog, "auth.k8s.io", "v2"), undefined);
});

test("the hash is that of the version that is stored", () => {
  const Old = kind("", "v1beta1", "Pod", {
    convert: { to: () => Pod, toStored: (object) => object, fromStored: (object) => object },
  });
  assert.equal(storageVersionHash(Old), "xPOwRZ+Yhw8=");
});

interface ToldResource {
  readonly responseKind: object;
  readonly subresources?: readonly object[];
}

test("aggregated discovery says it all at once", () => {
  const [core] = groupDiscoveryList(catalog, "api").items;
  assert.deepEqual(core?.metadata, {});
  const [version] = core?.versions ?? [];
  assert.equal(version?.freshness, "Current");
  const [pods] = (version?.resources ?? []) as readonly ToldResource[];
  assert.deepEqual(pods?.responseKind, { group: "", version: "", kind: "Pod" });
  assert.deepEqual(pods?.subresources, [
    { subresource: "exec", responseKind: { group: "", version: "", kind: "PodExecOptions" }, verbs: ["create", "get"] },
    {
      subresource: "scale",
      responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
      verbs: ["get", "patch", "update"],
    },
    { subresource: "status", responseKind: { group: "", version: "", kind: "Pod" }, verbs: ["get", "patch", "update"] },
  ]);
  const others = groupDiscoveryList(catalog, "apis").items;
  assert.deepEqual(
    others.map(({ metadata }) => metadata.name),
    ["auth.k8s.io", "stable.example.com", "zoo.example.com"],
  );
  const [tab] = (others[1]?.versions[1]?.resources ?? []) as readonly ToldResource[];
  assert.deepEqual(tab?.responseKind, {
    group: "stable.example.com",
    version: "v1beta1",
    kind: "CronTab",
  });
});

test("what other servers answer for stands among what is served here, in its place", () => {
  const stale = { version: "v1", freshness: "Stale" as const };
  const fresh = { version: "v1beta1", resources: [], freshness: "Current" as const };
  const foreign = [
    { group: "apples.example.com", version: "v1", discovery: stale },
    { group: "stable.example.com", version: "v1beta1", discovery: fresh },
    { group: "constructor", version: "v1", discovery: stale },
  ];
  const priorities = { ...catalog.priorities, "apples.example.com": { group: 17_500, versions: { v1: 1 } } };
  const all = groupDiscoveryList({ ...catalog, foreign, priorities }, "apis").items;
  assert.deepEqual(
    all.map(({ metadata }) => metadata.name),
    ["apples.example.com", "auth.k8s.io", "constructor", "stable.example.com", "zoo.example.com"],
  );
  assert.deepEqual(all[0]?.versions, [stale]);
  assert.equal(all[3]?.versions[1], fresh); // in place of what is served here
});
