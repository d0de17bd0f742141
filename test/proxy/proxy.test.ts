// The service proxy without a kernel: which rules it wants, and what it tells load balancers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { type HealthAnswer, HealthPorts } from "#proxy/health-ports.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { ProxyMode } from "#proxy/proxy-mode.ts";

const namespace = "default";
const place = { namespace, name: "web" };

/** A mode that was in use before, and must not be used again. */
const unused: ProxyMode = {
  name: "unused",
  rewrite: () => Promise.reject(new Error("not chosen")),
  change: () => Promise.reject(new Error("not chosen")),
  cleanup: () => Promise.resolve(),
};

async function stage() {
  await using cleanUp = new AsyncDisposableStack();
  const { server, clock } = cleanUp.use(await testServer());
  const { signal } = new AbortController();
  const client = new Client({ transport: server.request, user: testUser, userAgent: "test/1", signal });
  const parts = { client, clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(parts);
  let rules = "";
  const cleanups: string[] = [];
  const run = async (_: readonly string[], { input = "" }: { readonly input?: string }) => {
    rules = input;
    return "";
  };
  const families = ["IPv4"] as const;
  const proxy = new ServiceProxy({
    ...parts,
    informers,
    mode: chooseMode("nftables", { run, families, podRanges: ["10.244.0.0/16"] }).mode,
    others: [{ ...unused, cleanup: async () => void cleanups.push("other") }],
    connections: { forget: () => Promise.resolve() },
    node: "n1",
    families,
  });
  const ports = new Map<number, () => HealthAnswer>();
  const taken = new Set<number>();
  const health = new HealthPorts({
    ...parts,
    informers,
    node: "n1",
    isHealthy: () => proxy.hasSynced,
    async serve(port, answer) {
      if (taken.has(port)) throw new Error("it is taken");
      ports.set(port, answer);
      return { close: async () => void ports.delete(port) };
    },
  });
  const stop = new AbortController();
  const running = supervise([informers, proxy, health], stop.signal);
  cleanUp.defer(async () => {
    stop.abort(new Error("over"));
    await running;
  });
  const owned = cleanUp.move();
  return {
    client,
    ports,
    taken,
    cleanups,
    rules: () => rules,
    async until(check: () => boolean) {
      for (let looks = 0; !check() && looks < 3000; looks++) await clock.advance(20);
      assert.ok(check(), rules);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const sliceOf = (endpoints: object[]) => ({
  metadata: { namespace, name: "web-1", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4" as const,
  endpoints: endpoints as EndpointSlice["endpoints"],
  ports: [{ name: "", port: 8080 }],
});

test("proxy prefers endpoints that are kept for the zone of its node, also when that changes", async () => {
  await using s = await stage();
  const zone = "topology.kubernetes.io/zone";
  await s.client.create(Node, { metadata: { name: "n1", labels: { [zone]: "a" } } });
  await s.client.create(Service, { metadata: place, spec: { ports: [{ port: 80 }] } });
  const endpoint = (address: string, name: string) => ({ addresses: [address], hints: { forZones: [{ name }] } });
  await s.client.create(EndpointSlice, sliceOf([endpoint("10.244.1.1", "a"), endpoint("10.244.2.2", "b")]));
  const leadsTo = (address: string, other: string) => () => s.rules().includes(address) && !s.rules().includes(other);
  await s.until(leadsTo("10.244.1.1", "10.244.2.2"));
  await s.client.patch(Node, { name: "n1" }, "merge", { metadata: { labels: { [zone]: "b" } } });
  await s.until(() => s.rules().includes("10.244.2.2"));
});

test("a port tells load balancers how many endpoints a node has, for as long as the service wants it", async () => {
  await using s = await stage();
  const made = await s.client.create(Service, {
    metadata: place,
    spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80 }] },
  });
  const port = made.spec.healthCheckNodePort ?? 0;
  s.taken.add(port);
  await s.client.create(
    EndpointSlice,
    sliceOf([
      { addresses: ["10.244.1.1"], nodeName: "n1" },
      { addresses: ["10.244.1.2"], nodeName: "n1", conditions: { ready: false } },
      { addresses: ["10.244.2.1"], nodeName: "n2" },
    ]),
  );
  await s.until(() => s.rules().includes("10.244.1.1"));
  assert.equal(s.ports.size, 0, "another has the port");
  s.taken.clear();
  await s.until(() => s.ports.has(port));
  assert.deepEqual(s.ports.get(port)?.(), {
    code: 200,
    headers: {
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      "x-load-balancing-endpoint-weight": "1",
    },
    body: `{
	"service": {
		"namespace": "default",
		"name": "web"
	},
	"localEndpoints": 1,
	"serviceProxyHealthy": true
}`,
  });
  await s.client.patch(EndpointSlice, { namespace, name: "web-1" }, "merge", { endpoints: [] });
  await s.until(() => s.ports.get(port)?.().code === 503);
  await s.client.patch(Service, place, "merge", { spec: { externalTrafficPolicy: "Cluster" } });
  await s.until(() => s.ports.size === 0);
});

test("proxy removes once what other modes have left, before its first rules", async () => {
  await using s = await stage();
  await s.client.create(Service, { metadata: place, spec: { clusterIP: "10.96.0.80", ports: [{ port: 80 }] } });
  await s.until(() => s.rules().includes("10.96.0.80"));
  await s.client.create(EndpointSlice, sliceOf([{ addresses: ["10.244.1.1"] }]));
  await s.until(() => s.rules().includes("10.244.1.1"));
  assert.deepEqual(s.cleanups, ["other"]);
});

test("a proxy mode that is not in the list is refused by name", () => {
  const options = { run: async () => "", families: ["IPv4"] as const, podRanges: [] };
  assert.throws(() => chooseMode("wires", options), /proxy mode "wires" is unknown; there are nftables, iptables/);
});
