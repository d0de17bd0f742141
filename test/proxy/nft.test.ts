// The service proxy against the kernel: real packets in a network namespace that no packet can leave.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { runProgram } from "#base/host/run-program.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { ProxyMode, RunOnNode } from "#proxy/proxy-mode.ts";
import type { Draft } from "#schema/infer.ts";
import { impossible, TestNode } from "./namespace.ts";

const pods = ["10.244.0.1", "10.244.0.2", "10.244.0.3"] as const;
const all = Object.fromEntries(pods.map((pod) => [pod, true]));

interface Stage extends AsyncDisposable {
  readonly node: TestNode;
  readonly client: Client;
  readonly mode: ProxyMode;
  /** Fails the next attempt to change the rules. */
  failOnce(): void;
  service(name: string, spec: Draft<Service["spec"]>): Promise<Service>;
  endpoints(
    name: string,
    addresses: readonly string[],
    rest?: Draft<EndpointSlice["endpoints"][number]>,
  ): Promise<void>;
  /** Asks until the answers are as told: rules follow the API some moments later. */
  eventually(check: () => Promise<void>): Promise<void>;
}

async function stage(): Promise<Stage> {
  const node = await TestNode.make([...pods.map((pod) => `${pod}/32`), "192.168.77.1/32", "10.9.9.9/32"]);
  const server = await testServer();
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
  const stop = new AbortController();
  const parts = { client, clock: server.clock, random: seededRandom(1), log: silentLog };
  const informers = new Informers(parts);
  let fails = false;
  const run: RunOnNode = async (command, options) => {
    if (fails && command[0] === "nft") {
      fails = false;
      throw new Error("not now");
    }
    return runProgram(["ip", "netns", "exec", node.name, ...command], options);
  };
  const families = ["IPv4", "IPv6"] as const;
  const { mode } = chooseMode("nftables", { run, families, podRanges: ["10.244.0.0/16"] });
  const proxy = new ServiceProxy({
    ...parts,
    informers,
    mode,
    connections: conntrack(run),
    node: "n1",
    families,
  });
  const running = Promise.allSettled([informers.run(stop.signal), proxy.run(stop.signal)]);
  const namespace = "default";
  return {
    node,
    client,
    mode,
    failOnce() {
      fails = true;
    },
    service: (name, spec) => client.create(Service, { metadata: { name, namespace }, spec }),
    async endpoints(name, addresses, rest = {}) {
      const place = { name: `${name}-1`, namespace };
      const endpoints = addresses.map((address) => ({ nodeName: "n1", ...rest, addresses: [address] }));
      const present = await client.find(EndpointSlice, place);
      if (present) await client.patch(EndpointSlice, place, "merge", { endpoints });
      else
        await client.create(EndpointSlice, {
          metadata: { ...place, labels: { "kubernetes.io/service-name": name } },
          addressType: "IPv4",
          endpoints,
          ports: [{ name: "", port: 8080 }],
        });
    },
    async eventually(check) {
      for (let attempt = 0; ; attempt++)
        try {
          return await check();
        } catch (error) {
          if (attempt === 60) throw error;
          await pause(50);
          await server.clock.advance(1_000);
        }
    },
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("over"));
      await running;
      await server[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

const spread = (counts: Record<string, number>) => Object.fromEntries(Object.keys(counts).map((who) => [who, true]));

test("proxy sends traffic for a cluster address to each endpoint", { skip: impossible }, async () => {
  await using s = await stage();
  const { spec } = await s.service("web", { ports: [{ port: 80 }] });
  const address = spec.clusterIP ?? "";
  await s.eventually(async () => assert.equal(await s.node.ask(address, 80), "ECONNREFUSED"));
  await s.endpoints("web", pods);
  await s.eventually(async () => assert.deepEqual(spread(await s.node.askOften(40, address, 80)), all));
  assert.equal(await s.node.ask(address, 81), "ECONNREFUSED", "a port the service does not have");
  await s.endpoints("web", [pods[1]]);
  await s.eventually(async () => assert.deepEqual(await s.node.askOften(10, address, 80), { [pods[1]]: 10 }));
  await s.endpoints("web", []);
  await s.eventually(async () => assert.equal(await s.node.ask(address, 80), "ECONNREFUSED"));
  await s.client.delete(Service, { namespace: "default", name: "web" });
  await s.eventually(async () => assert.doesNotMatch(s.node.nft("list", "table", "ip", "knarr-proxy"), /10\.96\./));
});

test("proxy opens node ports and addresses of load balancers", { skip: impossible }, async () => {
  await using s = await stage();
  const made = await s.service("web", {
    type: "LoadBalancer",
    ports: [{ port: 80, nodePort: 30_080 }],
    externalIPs: ["172.31.0.9"],
    loadBalancerSourceRanges: ["10.9.9.0/24"],
  });
  const ingress = [{ ip: "172.31.0.8" }];
  await s.client.update(
    Service,
    { ...made, status: { ...made.status, loadBalancer: { ingress } } } as Service,
    "status",
  );
  await s.endpoints("web", pods);
  await s.eventually(async () => assert.deepEqual(spread(await s.node.askOften(40, "192.168.77.1", 30_080)), all));
  assert.deepEqual(spread(await s.node.askOften(40, "172.31.0.9", 80)), all);
  assert.match(await s.node.ask("172.31.0.8", 80, { from: "10.9.9.9" }), /^10\.244\.0\.\d$/, "from a network that may");
  assert.equal(await s.node.ask("172.31.0.8", 80, { from: "192.168.77.1" }), "timeout", "from one that may not");
});

test("proxy keeps traffic of outsiders on the node where the service wants that", { skip: impossible }, async () => {
  await using s = await stage();
  await s.service("web", {
    type: "NodePort",
    externalTrafficPolicy: "Local",
    internalTrafficPolicy: "Local",
    ports: [{ port: 80, nodePort: 30_080 }],
  });
  const { spec } = await s.client.get(Service, { namespace: "default", name: "web" });
  await s.endpoints("web", pods, { nodeName: "elsewhere" });
  const inside = { from: "10.244.0.1" };
  await s.eventually(async () =>
    assert.match(await s.node.ask("192.168.77.1", 30_080, inside), /^10\.244/, "pods reach it wherever it is"),
  );
  assert.equal(await s.node.ask(spec.clusterIP ?? "", 80), "timeout", "inside, too, there is nothing on this node");
  await s.endpoints("web", [pods[2]], { nodeName: "n1" });
  await s.eventually(async () => assert.equal(await s.node.ask(spec.clusterIP ?? "", 80), pods[2]));
});

test("proxy sends a client to the same endpoint each time if the service wants that", {
  skip: impossible,
}, async () => {
  await using s = await stage();
  const { spec } = await s.service("web", { sessionAffinity: "ClientIP", ports: [{ port: 80 }] });
  const address = spec.clusterIP ?? "";
  await s.endpoints("web", pods);
  await s.eventually(async () => assert.match(await s.node.ask(address, 80), /^10\.244/));
  const first = await s.node.askOften(20, address, 80);
  assert.equal(Object.keys(first).length, 1);
  const [chosen = ""] = Object.keys(first);
  const others = pods.filter((pod) => pod !== chosen);
  await s.endpoints("web", [chosen, ...others.slice(0, 1)]);
  await pause(300);
  assert.deepEqual(await s.node.askOften(10, address, 80), { [chosen]: 10 }, "also when another endpoint goes");
  await s.endpoints("web", others);
  await s.eventually(async () => assert.ok(others.includes((await s.node.ask(address, 80)) as (typeof pods)[number])));
});

test("proxy sends datagrams to a new endpoint when theirs is gone", { skip: impossible }, async () => {
  await using s = await stage();
  const { spec } = await s.service("dns", { ports: [{ port: 53, protocol: "UDP" }] });
  const address = spec.clusterIP ?? "";
  const ask = () => s.node.ask(address, 53, { protocol: "udp" });
  await ask(); // it began before there was anyone to answer
  await s.client.create(EndpointSlice, {
    metadata: { name: "dns-1", namespace: "default", labels: { "kubernetes.io/service-name": "dns" } },
    addressType: "IPv4",
    endpoints: [{ addresses: [pods[0]], nodeName: "n1" }],
    ports: [{ name: "", port: 8080, protocol: "UDP" }],
  });
  await s.eventually(async () => assert.equal(await ask(), pods[0]));
  await s.client.patch(EndpointSlice, { name: "dns-1", namespace: "default" }, "merge", {
    endpoints: [{ addresses: [pods[1]], nodeName: "n1" }],
  });
  await s.eventually(async () => assert.equal(await ask(), pods[1], "the same socket goes on asking"));
});

test("proxy makes everything anew after a failure, and gives an address to the next who wants it", {
  skip: impossible,
}, async () => {
  await using s = await stage();
  const shared = { externalIPs: ["172.31.0.5"], ports: [{ port: 80 }] };
  await s.service("first", shared);
  await s.endpoints("first", [pods[0]]);
  await s.eventually(async () => assert.equal(await s.node.ask("172.31.0.5", 80), pods[0]));
  await s.service("second", shared);
  await s.endpoints("second", [pods[1]]);
  s.failOnce();
  s.node.nft("flush", "ruleset");
  await s.service("third", { ports: [{ port: 80 }] });
  await s.eventually(async () => assert.equal(await s.node.ask("172.31.0.5", 80), pods[0], "who was first has it"));
  await s.client.delete(Service, { namespace: "default", name: "first" });
  await s.eventually(async () => assert.equal(await s.node.ask("172.31.0.5", 80), pods[1]));
});

test("a mode takes away all that it made, and what is not there is no trouble", { skip: impossible }, async () => {
  await using s = await stage();
  await s.service("web", { ports: [{ port: 80 }] });
  await s.eventually(async () => assert.match(s.node.nft("list", "tables"), /knarr-proxy/));
  const { signal } = new AbortController();
  for (let times = 0; times < 2; times++) {
    await s.mode.cleanup(signal);
    assert.doesNotMatch(s.node.nft("list", "tables"), /knarr-proxy/);
  }
});
