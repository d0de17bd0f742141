import assert from "node:assert/strict";
import { test } from "node:test";
import type { CachedDiscovery } from "./cached-discovery.ts";
import type { DiscoveredApis } from "./discovery.ts";
import { apiVersionOf, RestMapper, resourceName } from "./rest-mapper.ts";
import type { ServerResource } from "./server-resource.ts";

const resource = (name: string, kind: string, more: Partial<ServerResource> = {}): ServerResource => ({
  name,
  singularName: kind.toLowerCase(),
  namespaced: true,
  kind,
  verbs: ["get", "list"],
  ...more,
});
const group = (name: string, ...versions: string[]) => {
  const named = versions.map((version) => ({ version, groupVersion: name === "" ? version : `${name}/${version}` }));
  return { name, versions: named, preferredVersion: named[0] as (typeof named)[number] };
};
const events = resource("events", "Event", { shortNames: ["ev"] });
const apis: DiscoveredApis = {
  groups: [group("", "v1"), group("apps", "v1", "v1beta1"), group("events.k8s.io", "v1"), group("example.com", "v1")],
  resources: new Map(
    [
      [
        "v1",
        [resource("pods", "Pod", { shortNames: ["po"], categories: ["all"] }), events, resource("pods/log", "Pod")],
      ],
      ["apps/v1", [resource("deployments", "Deployment", { shortNames: ["deploy"], categories: ["all"] })]],
      [
        "apps/v1beta1",
        [resource("deployments", "Deployment", { shortNames: ["deploy"] }), resource("scales", "Scale")],
      ],
      ["events.k8s.io/v1", [events]],
      ["example.com/v1", [resource("portals", "Portal", { shortNames: ["po"] })]],
    ].map(([name, resources]) => [
      name as string,
      { groupVersion: name as string, resources: resources as ServerResource[] },
    ]),
  ),
  failures: new Map(),
};
const discovery = {
  isFresh: true,
  apis: async () => apis,
  invalidate: () => undefined,
} as unknown as CachedDiscovery;

test("names, short names, kinds, groups and versions all find their resource", async () => {
  const warnings: string[] = [];
  const mapper = new RestMapper(discovery, (text) => warnings.push(text));
  for (const [arg, wanted] of [
    ["pods", "v1 pods"],
    ["pod", "v1 pods"],
    ["Pod", "v1 pods"],
    ["PODS", "v1 pods"],
    ["deploy", "apps/v1 deployments.apps"],
    ["deployments.apps", "apps/v1 deployments.apps"],
    ["deploy.v1beta1.apps", "apps/v1 deployments.apps"],
    ["deployments.v1beta1.apps", "apps/v1beta1 deployments.apps"],
    ["Deployment.v1.apps", "apps/v1 deployments.apps"],
    ["deployments.v9.apps", undefined],
    ["scales", "apps/v1beta1 scales.apps"],
    ["events.events.k8s.io", "events.k8s.io/v1 events.events.k8s.io"],
    ["events.events", "events.k8s.io/v1 events.events.k8s.io"],
    ["portals.example", "example.com/v1 portals.example.com"],
    ["nothing", undefined],
  ] as const) {
    if (wanted === undefined) await assert.rejects(mapper.mappingFor(arg), /the server doesn't have a resource type/);
    else {
      const found = await mapper.mappingFor(arg);
      assert.equal(`${apiVersionOf(found)} ${resourceName(found)}`, wanted, arg);
    }
  }
  assert.deepEqual(warnings, []);
  await mapper.mappingFor("po");
  assert.deepEqual(warnings, ['short name "po" could also match lower priority resource portals.example.com']);
});

test("what is not found is said with its group", async () => {
  const mapper = new RestMapper(discovery, () => undefined);
  await assert.rejects(mapper.mappingFor("x.y.z"), {
    message: `the server doesn't have a resource type "x"`,
  });
  await assert.rejects(mapper.mappingForKind("apps", "Nope", "v1"), {
    message: 'no matches for kind "Nope" in version "apps/v1"',
  });
});

test("a category is all its members", async () => {
  const mapper = new RestMapper(discovery, () => undefined);
  assert.deepEqual(await mapper.category("all"), ["pods", "deployments.apps"]);
  assert.equal(await mapper.category("none"), undefined);
});

test("a server is asked again once when something is not found in what is remembered", async () => {
  let invalidated = 0;
  const stale = {
    isFresh: false,
    apis: async () => apis,
    invalidate: () => invalidated++,
  } as unknown as CachedDiscovery;
  await assert.rejects(new RestMapper(stale, () => undefined).mappingFor("nothing"));
  assert.equal(invalidated, 1);
});
