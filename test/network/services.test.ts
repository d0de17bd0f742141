// Services as the host and pods reach them, over two nodes with the real packet rules of the proxy.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Node } from "#api/core/v1/node.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { runProgram } from "#base/host/run-program.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { applySteps } from "#network/host/apply-steps.ts";
import type { LocalNode } from "#network/local-network.ts";
import { ServiceRoutes } from "#network/service-routes.ts";
import { conntrack } from "#proxy/host/conntrack.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { ServiceProxy } from "#proxy/proxy.ts";
import type { RunOnNode } from "#proxy/proxy-mode.ts";
import type { Draft } from "#schema/infer.ts";
import { impossible, ip, TestHost } from "./host.ts";
import type { Peer } from "./peer.ts";

class Stage implements AsyncDisposable {
  readonly host: TestHost;
  readonly client: Client;
  readonly #cleanUp: AsyncDisposableStack;

  private constructor(host: TestHost, client: Client, cleanUp: AsyncDisposableStack) {
    this.host = host;
    this.client = client;
    this.#cleanUp = cleanUp;
  }

  static async make(label: string): Promise<Stage> {
    await using cleanUp = new AsyncDisposableStack();
    const host = cleanUp.use(await TestHost.make(label, 2));
    await host.up();
    const { server } = cleanUp.use(await testServer());
    const { signal } = new AbortController();
    const client = new Client({ transport: server.request, user: testUser, userAgent: "test/1", signal });
    const parts = { client, clock: systemClock, random: seededRandom(1), log: silentLog };
    const informers = new Informers(parts);
    const proxies = host.network.nodes.map(({ name, netns }) => {
      const run: RunOnNode = (command, options) =>
        runProgram(["nsenter", `--net=/run/netns/${netns}`, ...command], options);
      const families = ["IPv4"] as const;
      return new ServiceProxy({
        ...parts,
        informers,
        ...chooseMode("nftables", { run, families, podRanges: ["10.244.0.0/16"] }),
        connections: conntrack(run),
        node: name,
        families,
      });
    });
    const routes = new ServiceRoutes({
      ...parts,
      network: host.network,
      informers,
      apply: (stages, stopped) => applySteps(stages, { prefix: host.prefix, signal: stopped }),
    });
    const stop = new AbortController();
    const running = supervise([informers, routes, ...proxies], stop.signal);
    cleanUp.defer(async () => {
      stop.abort(new Error("over"));
      await running;
    });
    const stage = new Stage(host, client, cleanUp.move());
    for (const { name } of host.network.nodes) await client.create(Node, { metadata: { name } });
    for (const { name } of host.network.nodes) await stage.ready(name, true);
    return stage;
  }

  node(i: number): LocalNode {
    return this.host.network.nodes[i] as LocalNode;
  }

  async ready(name: string, isReady: boolean): Promise<void> {
    const conditions = [
      { type: "Ready", status: isReady ? "True" : "False", lastHeartbeatTime: "2026-01-01T00:00:00Z" },
    ];
    await this.client.patch(Node, { name }, "merge", { status: { conditions } }, { subresource: "status" });
  }

  /** A service on port 80 whose endpoints are these pods. */
  async service(
    name: string,
    spec: Draft<Service["spec"]>,
    pods: readonly { readonly address: string; readonly node: number }[],
    ingress?: string,
    port = 8080,
  ): Promise<Service["spec"]> {
    const place = { name, namespace: "default" };
    const made = await this.client.create(Service, { metadata: place, spec: { ports: [{ port: 80 }], ...spec } });
    if (ingress !== undefined)
      await this.client.patch(
        Service,
        place,
        "merge",
        { status: { loadBalancer: { ingress: [{ ip: ingress }] } } },
        { subresource: "status" },
      );
    await this.client.create(EndpointSlice, {
      metadata: { ...place, labels: { "kubernetes.io/service-name": name } },
      addressType: "IPv4",
      endpoints: pods.map(({ address, node }) => ({ addresses: [address], nodeName: `n${node}` })),
      ports: [{ name: "", port }],
    });
    return made.spec;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cleanUp.disposeAsync();
  }
}

/** Rules and routes follow the API some moments later. */
async function eventually(check: () => Promise<void> | void): Promise<void> {
  for (let attempt = 0; ; attempt++)
    try {
      return await check();
    } catch (error) {
      if (attempt === 100) throw error;
      await pause(50);
    }
}

/** Who answers, of many times. */
async function answerers(from: Peer, to: string, port = 80): Promise<readonly string[]> {
  const answers = [];
  for (let times = 0; times < 24; times++) answers.push((await from.ask(to, port)).split(" ")[0] as string);
  return [...new Set(answers)].sort();
}

const pods = [
  { name: "a", node: 0, address: "10.244.0.2" },
  { name: "b", node: 0, address: "10.244.0.3" },
  { name: "c", node: 1, address: "10.244.1.2" },
] as const;
const names = pods.map(({ name }) => name);

test("cluster, node port and load balancer addresses answer from the host, from nodes and from pods", {
  skip: impossible,
}, async () => {
  await using stage = await Stage.make("s");
  const { host } = stage;
  const inside = await Promise.all(pods.map(({ name, node, address }) => host.pod(name, stage.node(node), address)));
  const outside = await host.peer("host", host.name);
  const spec = await stage.service("web", { type: "LoadBalancer" }, pods, "172.31.255.7");
  const clusterIp = spec.clusterIP ?? "";
  const nodePort = spec.ports?.[0]?.nodePort ?? 0;
  await eventually(async () => assert.deepEqual(await answerers(outside, clusterIp), names));
  for (const { address } of host.network.nodes)
    await eventually(async () => assert.deepEqual(await answerers(outside, address, nodePort), names));
  await eventually(async () => assert.deepEqual(await answerers(outside, "172.31.255.7"), names));
  const onNode = await host.peer("node", stage.node(0).netns);
  for (const from of [...inside, onNode]) {
    assert.deepEqual(await answerers(from, clusterIp), names);
    assert.deepEqual(await answerers(from, "172.31.255.7"), names);
  }
  // The receiver sees a pod by its own address, and itself, where it called itself, by its node's.
  const [a] = inside as [Peer];
  const seen = new Set<string>();
  for (let times = 0; times < 24; times++) seen.add(await a.ask(clusterIp, 80));
  assert.deepEqual([...seen].sort(), ["a 10.244.0.1", "b 10.244.0.2", "c 10.244.0.2"]);
});

test("services stay reachable from the host while a node is away", { skip: impossible }, async () => {
  await using stage = await Stage.make("w");
  const { host } = stage;
  const pod = { address: "10.244.1.2", node: 1 };
  await host.pod("c", stage.node(1), pod.address);
  const outside = await host.peer("host", host.name);
  const addresses: string[] = [];
  for (let i = 0; i < 6; i++) addresses.push((await stage.service(`web${i}`, {}, [pod])).clusterIP ?? "");
  const all = async (check: (answer: string) => void) => {
    for (const address of addresses) check(await outside.ask(address, 80));
  };
  await eventually(() => all((answer) => assert.match(answer, /^c /)));
  const ways = () => host.ip("route", "show", "10.96.0.0/16");
  ip("-n", stage.node(0).netns, "link", "set", "eth0", "down");
  await stage.ready("n0", false);
  await eventually(() => assert.doesNotMatch(ways(), /172\.31\.0\.10/));
  await all((answer) => assert.equal(answer, "c 10.244.1.1", "in the name of the node that is there"));
  ip("-n", stage.node(0).netns, "link", "set", "eth0", "up");
  await stage.ready("n0", true);
  await eventually(() => assert.match(ways(), /172\.31\.0\.10 [\s\S]*172\.31\.0\.11 /));
});

test("a load balancer that keeps the sender's address leads to nodes with an endpoint only", {
  skip: impossible,
}, async () => {
  await using stage = await Stage.make("l");
  const { host, client } = stage;
  await Promise.all(pods.map(({ name, node, address }) => host.pod(name, stage.node(node), address)));
  const outside = await host.peer("host", host.name);
  let marks = 0;
  const ingress = Array.from({ length: 6 }, (_, i) => `172.31.255.${20 + i}`);
  const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local" } as const;
  for (const [i, address] of ingress.entries())
    await stage.service(`web${i}`, spec, [{ address: pods[2].address, node: 1 }], address);
  const answer = (expected: string) =>
    eventually(async () => {
      for (const address of ingress) assert.equal(await outside.ask(address, 80), expected);
    });
  await answer(`c ${host.network.hostAddress}`);
  // The pod moves to the other node, as far as the API tells.
  for (const i of ingress.keys())
    await client.patch(EndpointSlice, { name: `web${i}`, namespace: "default" }, "merge", {
      endpoints: [{ addresses: [pods[0].address], nodeName: "n0" }],
    });
  await answer(`a ${host.network.hostAddress}`);
  // Connections stay open while other nodes come to answer for the address, and go again.
  const held = Array.from({ length: 6 }, (_, i) => `172.31.255.${30 + i}`);
  for (const [i, address] of held.entries())
    await stage.service(`held${i}`, spec, [{ address: pods[2].address, node: 1 }], address, 8081);
  const routes = () => host.ip("route", "show", "proto", "107");
  for (const address of held) {
    await eventually(() => assert.match(routes(), new RegExp(`${address} `)));
    await eventually(async () => assert.equal(await outside.hold(address, 80), "1"));
  }
  const open = await outside.heldConnections();
  const second = { addresses: [pods[0].address], nodeName: "n0" };
  for (const more of [[second], [], [second]]) {
    for (const i of held.keys())
      await client.patch(EndpointSlice, { name: `held${i}`, namespace: "default" }, "merge", {
        endpoints: [{ addresses: [pods[2].address], nodeName: "n1" }, ...more],
      });
    // A service more: once it has its route, those before it have theirs.
    const mark = `172.31.255.${40 + marks++}`;
    await stage.service(`mark${marks}`, spec, [{ address: pods[0].address, node: 0 }], mark);
    await eventually(() => assert.match(routes(), new RegExp(`${mark} `)));
    assert.equal(await outside.heldConnections(), open);
  }
  assert.ok(Number(open) >= held.length);
  for (const i of held.keys()) await client.delete(Service, { name: `held${i}`, namespace: "default" });
  for (let i = 1; i <= marks; i++) await client.delete(Service, { name: `mark${i}`, namespace: "default" });
  for (const i of ingress.keys()) await client.delete(Service, { name: `web${i}`, namespace: "default" });
  await eventually(() => assert.equal(host.ip("route", "show", "proto", "107"), ""));
});
