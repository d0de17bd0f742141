import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { Ingress } from "#api/networking/v1/ingress.ts";
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { world } from "#client/testing.ts";
import { configText } from "./haproxy/config.ts";
import { mapNames, mapOf, mapPath } from "./haproxy/places.ts";
import { stepsBetween } from "./haproxy/steps.ts";
import type { ProxyState } from "./proxy-state.ts";
import { routesOf } from "./routes.ts";

const w = world();
const own = w.have(IngressClass, { metadata: { name: "haproxy" }, spec: { controller: "knarr.local/ingress" } });
const other = w.have(IngressClass, { metadata: { name: "other" }, spec: { controller: "elsewhere" } });

interface Rule {
  readonly name?: string;
  readonly host?: string;
  readonly path?: string;
  readonly pathType?: "Exact" | "Prefix" | "ImplementationSpecific";
  readonly service?: string;
  readonly className?: string;
  readonly annotations?: Record<string, string>;
  readonly created?: string;
}

const ingressOf = ({ name = "i", host = "a.test", path = "/", pathType = "Prefix", service = "web", ...rest }: Rule) =>
  w.have(Ingress, {
    metadata: {
      name,
      namespace: "default",
      annotations: rest.annotations ?? {},
      creationTimestamp: rest.created ?? "2026-01-01T00:00:00Z",
    },
    spec: {
      ingressClassName: rest.className ?? "haproxy",
      rules: [
        {
          host,
          http: { paths: [{ path, pathType, backend: { service: { name: service, port: { name: "http" } } } }] },
        },
      ],
    },
  });

const route = (
  rules: readonly Rule[],
  endpoints: Readonly<Record<string, readonly string[]>> = { web: ["10.0.0.1"] },
) =>
  routesOf({
    ingresses: rules.map(ingressOf),
    classes: [own, other],
    service: (key) =>
      endpoints[key.slice(8)] &&
      w.have(Service, {
        metadata: { name: key.slice(8), namespace: "default" },
        spec: { ports: [{ name: "http", port: 80 }] },
      }),
    slices: (key) => [
      w.have(EndpointSlice, {
        metadata: { name: "s", namespace: "default" },
        addressType: "IPv4",
        endpoints: (endpoints[key.slice(8)] ?? []).map((address) => ({ addresses: [address], conditions: {} })),
        ports: [{ name: "http", port: 8080 }],
      }),
    ],
    secret: () => undefined,
    isKeyPair: () => true,
  });

test("only Ingresses of our class become routes", () => {
  assert.equal(route([{ className: "other" }]).ingresses.length, 0);
  assert.equal(route([{ className: "haproxy" }]).ingresses.length, 1);
});

test("routes lead straight to the endpoints of the service's port", () => {
  const { state } = route([{ path: "/x/" }, { path: "/y", pathType: "Exact" }]);
  assert.deepEqual([...state.prefixes.keys()], ["a.test/x/"]);
  assert.deepEqual([...state.exact.keys()], ["a.test/y"]);
  assert.deepEqual(
    [...state.backends.values()].map(({ servers }) => [...servers.keys()]),
    [["10.0.0.1:8080"]],
  );
});

test("of two Ingresses with the same path the older one counts", () => {
  const { state } = route(
    [
      { name: "new", service: "b", created: "2026-01-02T00:00:00Z" },
      { name: "old", service: "a" },
    ],
    { a: ["10.0.0.1"], b: ["10.0.0.2"] },
  );
  assert.match(state.prefixes.get("a.test/") ?? "", /^default_a_80_/);
});

test("what cannot be served is told, and harms no other route", () => {
  const { state, problems } = route([
    { service: "nothing", host: "b.test" },
    { path: "/a b", host: "c.test", pathType: "ImplementationSpecific" },
    {
      path: "/(",
      host: "d.test",
      pathType: "ImplementationSpecific",
      annotations: { "nginx.ingress.kubernetes.io/use-regex": "true" },
    },
    { host: "e.test", annotations: { "nginx.ingress.kubernetes.io/limit-rps": "many" } },
  ]);
  assert.deepEqual([...state.sites], ["e.test"]);
  assert.equal(problems.length, 4);
});

test("no annotation and no path adds a line to the configuration", () => {
  const names = [
    "rewrite-target",
    "permanent-redirect",
    "app-root",
    "upstream-vhost",
    "auth-realm",
    "session-cookie-name",
    "whitelist-source-range",
    "limit-rps",
    "proxy-body-size",
    "backend-protocol",
  ];
  const ports = { httpPort: 80, httpsPort: 443 };
  const places = { folder: "/f", ingress: ports, metricsPort: 1, hasIpv6: true, generation: 1 };
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("'", "a'b", "x\n  http-request deny", "%[src]", '"', "\\", "a b", "$X"),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), value), value, (annotations, path) => {
      const named = Object.fromEntries(
        Object.entries(annotations).map(([key, text]) => [`nginx.ingress.kubernetes.io/${key}`, text]),
      );
      const { state } = route([
        {
          annotations: { ...named, "nginx.ingress.kubernetes.io/affinity": "cookie" },
          path: `/${path}`,
          pathType: "ImplementationSpecific",
        },
      ]);
      const [id = "", backend] = [...state.backends][0] ?? [];
      if (!backend) return;
      const text = configText(state, places);
      const known =
        /^(backend |userlist | {2}(balance|server|http-request|stick-table|dynamic-cookie-key|cookie|timeout|user) |$)/;
      const own = text.slice(text.indexOf(`backend ${id}`)).split("\n");
      assert.deepEqual(
        own.filter((line) => !known.test(line)),
        [],
      );
      // Each rule is of one of our own kinds, and whatever is quoted stays in its quotation marks.
      assert.ok(own.every((line) => (line.match(/'/g) ?? []).length % 2 === 0));
      assert.equal(own.filter((line) => /^ {2}http-request deny$/.test(line)).length, 0);
    }),
    { numRuns: 100 },
  );
});

/** What the commands would do to a proxy: its maps and its servers. */
function applied(before: ProxyState, after: ProxyState): { maps: unknown; servers: unknown } | "reload" {
  const { needsReload, commands } = stepsBetween(before, after, "/f");
  if (needsReload) return "reload";
  const maps = new Map(mapNames.map((name) => [mapPath("/f", name), new Map(mapOf(before, name))]));
  const servers = new Map<string, boolean>(
    [...before.backends].flatMap(([id, backend]) =>
      [...backend.servers.keys()].map((one) => [`${id}/s_${one.replaceAll(":", "_")}`, true] as const),
    ),
  );
  for (const { text, payload = "" } of commands) {
    const [verb, what, where = "", key = "", value = ""] = text.split(" ");
    if (what === "map" && verb === "add")
      for (const line of payload.trim().split("\n"))
        maps.get(where)?.set(line.split(" ")[0] ?? "", line.split(" ")[1] ?? "");
    else if (what === "map" && verb === "set") maps.get(where)?.set(key, value);
    else if (what === "map") maps.get(where)?.delete(key);
    else if (verb === "enable") servers.set(where, true);
    else if (verb === "disable") servers.delete(where);
  }
  return { maps: [...maps].map(([name, map]) => [name, [...map].toSorted()]), servers: [...servers.keys()].toSorted() };
}

test("after the commands the proxy has what it is to have", () => {
  const rule = fc.record({
    host: fc.constantFrom("a.test", "*.b.test"),
    path: fc.constantFrom("/", "/x", "/x/y", "/~z"),
    pathType: fc.constantFrom("Exact" as const, "Prefix" as const, "ImplementationSpecific" as const),
    service: fc.constantFrom("web", "api"),
  });
  const endpoints = fc.record({
    web: fc.uniqueArray(fc.constantFrom("10.0.0.1", "10.0.0.2", "10.0.0.3")),
    api: fc.uniqueArray(fc.constantFrom("10.0.1.1", "10.0.1.2")),
  });
  const state = fc.tuple(fc.array(rule, { maxLength: 6 }), endpoints).map(([rules, all]) => route(rules, all).state);
  let runtime = 0;
  fc.assert(
    fc.property(state, state, (before, after) => {
      const result = applied(before, after);
      if (result === "reload") return;
      runtime++;
      assert.deepEqual(result, applied(after, after));
    }),
    { numRuns: 300 },
  );
  assert.ok(runtime > 10);
});
