import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { explain } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import { notFound, serviceUnavailable } from "#wire/status.ts";
import { type ReadDocument, ServerDiscovery } from "./server-discovery.ts";

type Documents = Record<string, object | Error>;

/** A server of these documents, tagged with their text. It can be told to know nothing of aggregated discovery by its documents. */
function served(documents: Documents) {
  const asked: string[] = [];
  const read: ReadDocument = async (path, { etag }) => {
    const document = documents[path] ?? notFound({ group: "", resource: "" }, path);
    if (document instanceof Error) throw document;
    const text = JSON.stringify(document);
    asked.push(etag === text ? `${path} unchanged` : path);
    return etag === text ? undefined : { text, etag: text };
  };
  const { signal } = new AbortController();
  const discovery = new ServerDiscovery(read);
  return { asked, documents, discover: () => discovery.discover(signal) };
}

const verbs = ["create", "delete", "get", "list", "watch"];
const told = (plural: string, kind: string, more: object = {}) => ({
  resource: plural,
  responseKind: { group: "", version: "", kind },
  scope: "Namespaced",
  singularResource: kind.toLowerCase(),
  verbs,
  ...more,
});
const aggregated = (groups: Record<string, readonly object[]>) => ({
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  metadata: {},
  items: Object.entries(groups).map(([name, versions]) => ({ metadata: { name }, versions })),
});
const core = aggregated({
  "": [{ version: "v1", resources: [told("configmaps", "ConfigMap")], freshness: "Current" }],
});
const withWidgets = (more: object = {}) =>
  aggregated({
    apps: [{ version: "v1", resources: [told("deployments", "Deployment")] }],
    "example.com": [
      { version: "v2", resources: [told("widgets", "Widget", more)] },
      { version: "v1", resources: [told("widgets", "Widget")] },
    ],
  });
const names = (kinds: readonly AnyKind[]) => kinds.map(({ apiVersion, plural }) => `${apiVersion} ${plural}`);

test("declared kinds are themselves, others are made of what is told, in the server's order", async () => {
  const s = served({
    "/api": core,
    "/apis": withWidgets({
      shortNames: ["wd"],
      categories: ["all"],
      verbs: [...verbs, "explode"],
      subresources: [
        { subresource: "status", responseKind: { kind: "Widget" }, verbs: ["get", "patch", "update"] },
        { subresource: "scale", responseKind: { kind: "Scale" }, verbs: ["get"] },
      ],
    }),
  });
  const { kinds, failures } = await s.discover();
  assert.deepEqual(names(kinds), [
    "v1 configmaps",
    "apps/v1 deployments",
    "example.com/v2 widgets",
    "example.com/v1 widgets",
  ]);
  assert.deepEqual([kinds[0], kinds[1], failures.size], [ConfigMap, Deployment, 0]);
  const { group, version, kind, singular, listKind, scope, shortNames, categories, metadataOnly, ...widget } =
    kinds[2] ?? assert.fail();
  assert.deepEqual(
    { group, version, kind, singular, listKind, scope, shortNames, categories, metadataOnly },
    {
      group: "example.com",
      version: "v2",
      kind: "Widget",
      singular: "widget",
      listKind: "WidgetList",
      scope: "Namespaced",
      shortNames: ["wd"],
      categories: ["all"],
      metadataOnly: true,
    },
  );
  assert.deepEqual(widget.verbs, verbs);
  assert.ok(widget.subresources?.scale);
  assert.ok(widget.subresources?.status);
});

test("an unchanged answer is not read again, and kinds stay the same objects as long as they are told the same", async () => {
  const s = served({ "/api": core, "/apis": withWidgets() });
  const first = await s.discover();
  assert.equal(await s.discover(), first);
  assert.deepEqual(s.asked, ["/api", "/apis", "/api unchanged", "/apis unchanged"]);
  s.documents["/apis"] = withWidgets({ shortNames: ["wd"] });
  const second = await s.discover();
  assert.notEqual(second.kinds[2], first.kinds[2], "it has a short name now");
  assert.equal(second.kinds[3], first.kinds[3]);
});

test("a version that is stale has failed, and the rest is told", async () => {
  const stale = { version: "v1", resources: [told("pods", "PodMetrics")], freshness: "Stale" };
  const s = served({ "/api": core, "/apis": aggregated({ "metrics.k8s.io": [stale] }) });
  const { kinds, failures } = await s.discover();
  assert.deepEqual(names(kinds), ["v1 configmaps"]);
  assert.deepEqual(
    [...failures].map(([groupVersion, error]) => [groupVersion, explain(error)]),
    [["metrics.k8s.io/v1", "stale GroupVersion discovery: metrics.k8s.io/v1"]],
  );
});

const listed = (name: string, kind: string, more: object = {}) => ({
  name,
  singularName: "",
  namespaced: true,
  kind,
  verbs,
  ...more,
});
const plainGroup = (name: string, ...versions: string[]) => ({
  name,
  versions: versions.map((version) => ({ groupVersion: `${name}/${version}`, version })),
  preferredVersion: { groupVersion: `${name}/${versions.at(-1)}`, version: versions.at(-1) },
});

test("a server that knows no aggregated discovery is asked group by group, and one that fails is told apart", async () => {
  const s = served({
    "/api": { kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: null },
    "/apis": { kind: "APIGroupList", groups: [plainGroup("example.com", "v1", "v2"), plainGroup("broken.com", "v1")] },
    "/api/v1": { kind: "APIResourceList", groupVersion: "v1", resources: [listed("configmaps", "ConfigMap")] },
    "/apis/example.com/v1": { kind: "APIResourceList", groupVersion: "example.com/v1", resources: null },
    "/apis/example.com/v2": {
      kind: "APIResourceList",
      groupVersion: "example.com/v2",
      resources: [
        listed("widgets", "Widget", { namespaced: false }),
        listed("widgets/scale", "Scale", { group: "autoscaling", version: "v1" }),
        listed("gadgets", "Gadget"),
      ],
    },
    "/apis/broken.com/v1": serviceUnavailable("no answer"),
  });
  const { kinds, failures } = await s.discover();
  assert.deepEqual(names(kinds), ["v1 configmaps", "example.com/v2 widgets", "example.com/v2 gadgets"]);
  assert.equal(kinds[0], ConfigMap);
  assert.deepEqual(
    [kinds[1]?.scope, kinds[1]?.singular, Object.keys(kinds[1]?.subresources ?? {})],
    ["Cluster", "widget", ["scale"]],
  );
  assert.deepEqual([kinds[2]?.scope, kinds[2]?.subresources], ["Namespaced", {}]);
  assert.deepEqual([...failures.keys()], ["broken.com/v1"]);
  const again = await s.discover();
  assert.equal(again.kinds[1], kinds[1]);
});

test("a server without a core group is no failure, one without groups is", async () => {
  assert.deepEqual(names((await served({ "/apis": withWidgets() }).discover()).kinds).slice(0, 1), [
    "apps/v1 deployments",
  ]);
  await assert.rejects(served({ "/api": core, "/apis": serviceUnavailable("not yet") }).discover(), /not yet/);
});
