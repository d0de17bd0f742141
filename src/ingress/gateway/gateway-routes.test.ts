import assert from "node:assert/strict";
import { test } from "node:test";
import { conditionIn } from "#rules/conditions.ts";
import { stepsBetween } from "../haproxy/steps.ts";
import { gatewayRoutesOf } from "./gateway-routes.ts";
import { hostsAt } from "./hostnames.ts";
import type { GatewayListener, HttpMatch, HttpRouteRule, ParentReference, RouteFilter } from "./kinds.ts";
import { compareRanks, grpcMatch, httpMatch } from "./matches.ts";
import { scaled } from "./references.ts";
import { isAsWanted, servicesFor } from "./services.ts";
import { gatewayStatus, routeStatus } from "./status.ts";
import { type GatewaySituation, gatewayOf, objectsOf, routeOf, to } from "./testing.ts";

const now = "2026-01-02T00:00:00Z";

test("a route has the hosts that it and the listener have in common", () => {
  const table: readonly (readonly [string | undefined, readonly string[], readonly string[]])[] = [
    [undefined, [], [""]],
    ["a.test", [], ["a.test"]],
    [undefined, ["a.test", "*.b.test"], ["a.test", "*.b.test"]],
    ["*.test", ["a.test", "b.a.test", "test", "a.other"], ["a.test", "b.a.test"]],
    ["a.test", ["*.test"], ["a.test"]],
    ["test", ["*.test"], []],
    ["*.a.test", ["*.test", "*.x.a.test"], ["*.a.test", "*.x.a.test"]],
    ["a.test", ["b.test"], []],
  ];
  for (const [listener, route, expected] of table)
    assert.deepEqual(hostsAt(listener, route), expected, `${listener} ${route}`);
});

test("of several matches the most specific one counts", () => {
  const path = (type: "Exact" | "PathPrefix" | "RegularExpression", value: string) => ({ path: { type, value } });
  const header = (name: string) => ({ name, value: "x" });
  const inOrder: readonly HttpMatch[] = [
    path("Exact", "/a"),
    path("RegularExpression", "/[a-z]+/.*"),
    { ...path("PathPrefix", "/a/b"), method: "GET" },
    { ...path("PathPrefix", "/a/b"), headers: [header("one"), header("two")] },
    { ...path("PathPrefix", "/a/b"), headers: [header("one")], queryParams: [header("q")] },
    { ...path("PathPrefix", "/a/b"), headers: [header("one")] },
    { ...path("PathPrefix", "/a/b"), queryParams: [header("q")] },
    path("PathPrefix", "/a/b/"),
    path("PathPrefix", "/a"),
    path("PathPrefix", "/"),
  ];
  const ranks = inOrder.map((match) => httpMatch(match).rank);
  assert.deepEqual(ranks.toReversed().toSorted(compareRanks), ranks);
  const calls = [
    { method: { service: "a.Long", method: "Do" } },
    { method: { service: "a.Long" } },
    { method: { service: "a.B", method: "DoMore" } },
    { method: { method: "Do" } },
    {},
  ].map((match) => grpcMatch(match).rank);
  assert.deepEqual(calls.toReversed().toSorted(compareRanks), calls);
});

test("a weight is shared by the endpoints of its service", () => {
  assert.deepEqual(scaled([1]), [1]);
  assert.deepEqual(scaled([70, 30]), [7, 3]);
  assert.deepEqual(scaled([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3]), [3, 3, 2, 2, 2]);
  assert.deepEqual(scaled([1_000_000, 1]), [256, 1]);
});

const routed = (situation: GatewaySituation) => gatewayRoutesOf(objectsOf(situation));

test("plain routes are looked up, others are tried in turn", () => {
  const endpoints = { web: ["10.0.0.1:8080"] };
  const plain = routed({
    gateways: [gatewayOf([{}])],
    endpoints,
    http: [routeOf([{ backendRefs: [to("web")] }], { hostnames: ["a.test"] })],
  }).state;
  assert.equal(plain.prefixes.size, 1);
  assert.deepEqual(plain.frontends[0]?.conditional, []);
  const asking = routed({
    gateways: [gatewayOf([{}])],
    endpoints,
    http: [
      routeOf(
        [
          { matches: [{}], backendRefs: [to("web")] },
          { matches: [{ method: "POST" }], backendRefs: [to("web")] },
        ],
        { hostnames: ["a.test"] },
      ),
    ],
  }).state;
  assert.equal(asking.prefixes.size, 0);
  assert.deepEqual(
    asking.frontends[0]?.conditional.map(({ match, tier }) => [match.method, tier]),
    [
      ["POST", "exact"],
      [undefined, "exact"],
    ],
  );
});

test("endpoints, weights and certificates change without a reload; rules and ports do not", () => {
  const secrets = (text: string) => ({ "default/c": secretOf(text) });
  const secure = {
    protocol: "HTTPS",
    port: 443,
    tls: { mode: "Terminate" as const, certificateRefs: [{ name: "c" }] },
  };
  const situation = (weights: readonly [number, number], a: readonly string[], pem: string): GatewaySituation => ({
    gateways: [gatewayOf([{}, secure])],
    endpoints: { a, b: ["10.0.1.1:80"] },
    secrets: secrets(pem),
    http: [routeOf([{ backendRefs: [to("a", weights[0]), to("b", weights[1])] }], { name: "r" })],
  });
  const before = routed(situation([1, 1], ["10.0.0.1:80"], "one")).state;
  const after = routed(situation([3, 1], ["10.0.0.1:80", "10.0.0.2:80"], "two")).state;
  const { needsReload, commands } = stepsBetween(before, after, "/f");
  assert.equal(needsReload, false);
  const texts = commands.map(({ text }) => text).join("\n");
  assert.match(texts, /add server default_r_H0_\w+\/s_10.0.0.2_80 10.0.0.2:80 weight 3/);
  assert.match(texts, /set server default_r_H0_\w+\/s_10.0.1.1_80 weight 2/);
  assert.match(texts, /commit ssl cert/);
  const other = routed({ ...situation([1, 1], ["10.0.0.1:80"], "one"), gateways: [gatewayOf([{ port: 81 }, secure])] });
  assert.equal(stepsBetween(before, other.state, "/f").needsReload, true);
});

const pem = (text: string) => `-----BEGIN X-----\n${text}\n-----END X-----\n`;
const secretOf = (text: string) => {
  const data = { "tls.crt": btoa(pem(text)), "tls.key": btoa(pem(text)) };
  return { metadata: {}, data } as never;
};

test("listeners say what is wrong with them", () => {
  const tls = { mode: "Terminate" as const, certificateRefs: [{ name: "nothing" }] };
  const table: readonly (readonly [readonly Partial<GatewayListener>[], string, string])[] = [
    [[{}], "Accepted", "True Accepted"],
    [[{}], "Programmed", "True Programmed"],
    [[{ protocol: "UDP" }], "Accepted", "False UnsupportedProtocol"],
    [[{ protocol: "HTTPS", tls }], "ResolvedRefs", "False InvalidCertificateRef"],
    [[{ protocol: "HTTPS", tls }], "Programmed", "False Invalid"],
    [
      [{ protocol: "HTTPS", tls: { ...tls, certificateRefs: [{ name: "c", namespace: "other" }] } }],
      "ResolvedRefs",
      "False RefNotPermitted",
    ],
    [[{}, { protocol: "TLS", tls: { mode: "Passthrough" } }], "Conflicted", "True ProtocolConflict"],
    [[{ hostname: "a.test" }, { hostname: "a.test" }], "Conflicted", "True HostnameConflict"],
    [[{ hostname: "a.test" }, { hostname: "b.test" }], "Conflicted", "False NoConflicts"],
    [[{ allowedRoutes: { kinds: [{ kind: "TLSRoute" }] } }], "ResolvedRefs", "False InvalidRouteKinds"],
  ];
  for (const [listeners, type, expected] of table) {
    const [result] = routed({ gateways: [gatewayOf(listeners)] }).gateways;
    const status = gatewayStatus(result!, now);
    const condition = conditionIn(status.listeners?.[0]?.conditions, type);
    assert.equal(`${condition?.status} ${condition?.reason}`, expected, JSON.stringify(listeners));
    assert.equal(condition?.observedGeneration, 3);
  }
});

test("a Gateway is accepted if a listener is, and refused for what would be left out in silence", () => {
  const bad = { protocol: "UDP", port: 81 };
  const table = [
    [gatewayOf([{}]), "True Accepted", "True Programmed"],
    [gatewayOf([{}, bad]), "True ListenersNotValid", "True Programmed"],
    [gatewayOf([bad]), "False ListenersNotValid", "False Invalid"],
    [gatewayOf([{}], { tls: { frontend: {} } }), "False UnsupportedValue", "False Invalid"],
    [gatewayOf([{}], { addresses: [{ type: "Hostname", value: "a" }] }), "False UnsupportedAddress", "False Invalid"],
  ] as const;
  for (const [gateway, accepted, programmed] of table) {
    const { gateways, state } = routed({ gateways: [gateway] });
    const { conditions } = gatewayStatus(gateways[0]!, now);
    assert.equal(state.frontends.length > 0, accepted.startsWith("True"));
    const said = (type: string) => {
      const condition = conditionIn(conditions, type);
      return `${condition?.status} ${condition?.reason}`;
    };
    assert.deepEqual([said("Accepted"), said("Programmed")], [accepted, programmed]);
  }
});

test("routes say what became of them at each of their parents", () => {
  const mirror: RouteFilter = { type: "RequestMirror" };
  const foreign = { name: "web", namespace: "other", port: 80 };
  const permit = {
    namespace: "other",
    spec: {
      from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "default" }],
      to: [{ group: "", kind: "Service" }],
    },
  };
  const one = (
    rest: Parameters<typeof routeOf<HttpRouteRule>>[1],
    refs: readonly object[] = [to("web")],
    filters: RouteFilter[] = [],
  ) => routeOf<HttpRouteRule>([{ backendRefs: refs as never, filters }], rest);
  const parent = (rest: Partial<ParentReference>) => ({ parentRefs: [{ name: "gw", ...rest }] });
  const table = [
    [one({}), "True Accepted", "True ResolvedRefs", []],
    [one(parent({ sectionName: "nothing" })), "False NoMatchingParent", "True ResolvedRefs", []],
    [one(parent({ port: 81 })), "False NoMatchingParent", "True ResolvedRefs", []],
    [
      one({ ...parent({ namespace: "default" }), namespace: "far" }, [foreign]),
      "False NotAllowedByListeners",
      "False RefNotPermitted",
      [],
    ],
    [one({ hostnames: ["x.other"] }), "False NoMatchingListenerHostname", "True ResolvedRefs", []],
    [one({}, [to("web")], [mirror]), "False UnsupportedValue", "True ResolvedRefs", []],
    [one({}, [to("nothing")]), "True Accepted", "False BackendNotFound", []],
    [one({}, [{ ...to("web"), kind: "Bucket" }]), "True Accepted", "False InvalidKind", []],
    [one({}, [foreign]), "True Accepted", "False RefNotPermitted", []],
    [one({}, [foreign]), "True Accepted", "True ResolvedRefs", [permit]],
  ] as const;
  for (const [route, accepted, resolved, grants] of table) {
    const endpoints = { web: ["10.0.0.1:80"], "other/web": ["10.0.0.2:80"] };
    const { routes } = routed({ gateways: [gatewayOf([{ hostname: "*.test" }])], http: [route], endpoints, grants });
    const [status] = routeStatus(routes[0]!, now)?.parents ?? [];
    const said = (type: string) => {
      const condition = conditionIn(status?.conditions, type);
      return `${condition?.status} ${condition?.reason}`;
    };
    assert.deepEqual([said("Accepted"), said("ResolvedRefs")], [accepted, resolved], JSON.stringify(route.spec));
    assert.equal(status?.controllerName, "knarr.local/gateway");
  }
});

test("what other controllers say of a route stays, and times change only with the status", () => {
  const route = routeOf([{ backendRefs: [to("web")] }]);
  const theirs = { parentRef: { name: "x" }, controllerName: "else/where", conditions: [] };
  const situation = (status: unknown): GatewaySituation => ({
    gateways: [gatewayOf([{}])],
    http: [{ ...route, status: status as never }],
    endpoints: { web: [] },
  });
  const first = routeStatus(routed(situation({ parents: [theirs] })).routes[0]!, now);
  assert.deepEqual(first?.parents[0], theirs);
  const again = routeStatus(routed(situation(first)).routes[0]!, "2026-01-03T00:00:00Z");
  assert.deepEqual(again, first);
});

test("a host belongs to HTTP or to gRPC: the older route has it", () => {
  const [http, grpc] = [routeOf([{ backendRefs: [to("web")] }], { name: "b" }), routeOf([{}], { name: "a" })];
  const { routes, gateways } = routed({
    gateways: [gatewayOf([{}])],
    http: [http],
    grpc: [grpc],
    endpoints: { web: [] },
  });
  const refused = routes.filter(({ parents }) => parents[0]?.refusal?.reason === "HostnameConflict");
  assert.deepEqual(
    refused.map(({ kind }) => kind),
    ["HTTPRoute"],
  );
  assert.equal(gateways[0]?.listeners[0]?.attachedRoutes, 1);
});

test("each port of a Gateway keeps a port of the proxy that no other has", () => {
  const options = { namespace: "kube-system", selector: { app: "gateway" } };
  const { gateways } = routed({
    gateways: [gatewayOf([{}, { port: 443 }]), gatewayOf([{}], { name: "other" })],
    podPort: () => 20_000,
  });
  const services = servicesFor(gateways, options);
  const ports = services.flatMap((one) => one.spec?.ports?.map((port) => port?.targetPort) ?? []);
  assert.equal(new Set(ports).size, 3);
  assert.equal(ports[0], 20_000);
  assert.equal(isAsWanted(gateways[0]!.service!, services[0]!), false);
});
