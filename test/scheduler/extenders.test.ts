// Extenders over real HTTP: good ones, slow ones, broken ones and liars.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { Binding } from "#api/core/v1/binding.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { turn } from "#base/breathe.ts";
import { systemClock } from "#base/clock.ts";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import { readConfiguration } from "#scheduler/configuration.ts";
import { extenderCalls } from "#scheduler/host/extender-calls.ts";
import { asking, type SchedulingCluster, schedulingCluster } from "./cluster.ts";
import { type ExtenderAnswer, type ExtenderBody, startExtender } from "./extender.ts";

const withExtenders = (...extenders: readonly object[]) =>
  schedulingCluster({ configuration: readConfiguration({ extenders }), callExtender: extenderCalls(systemClock) });

/** Extenders answer in real time, the cluster has a clock of its own: both go on until it is so. */
async function until(cluster: SchedulingCluster, isDone: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 12_000; i++) {
    if (await isDone()) return;
    await cluster.server.clock.advance(100);
    await delay(5);
  }
  assert.fail("it did not come to that");
}

const conditionOf = ({ status }: Pod) => status.conditions?.find(({ type }) => type === "PodScheduled");
async function messageOf(cluster: SchedulingCluster, name: string): Promise<string> {
  await until(cluster, async () => conditionOf(await cluster.pod(name))?.message !== undefined);
  const { reason, message } = conditionOf(await cluster.pod(name)) ?? {};
  return `${reason}: ${message}`;
}
const isPlaced = (cluster: SchedulingCluster, name: string) =>
  until(cluster, async () => Boolean(await cluster.nodeOf(name)));
async function nodes(cluster: SchedulingCluster, ...names: readonly string[]) {
  for (const name of names) await cluster.haveNode(name);
}

test("an extender without a cache of its own gets whole nodes, and its filter and scores decide", async () => {
  await using extender = await startExtender(({ verb, body }) => {
    const items = body.Nodes?.items ?? [];
    if (verb === "score")
      return { body: items.map(({ metadata }) => ({ Host: metadata.name, Score: metadata.name === "c" ? 10 : 0 })) };
    return {
      body: { Nodes: { items: items.filter(({ metadata }) => metadata.name !== "a") }, FailedNodes: { a: "too loud" } },
    };
  });
  await using cluster = await withExtenders({
    urlPrefix: extender.url,
    filterVerb: "filter",
    prioritizeVerb: "score",
    weight: 5,
  });
  await nodes(cluster, "a", "b", "c");
  await cluster.havePod("p");
  await isPlaced(cluster, "p");
  assert.equal(await cluster.nodeOf("p"), "c");
  assert.deepEqual(
    extender.requests.map(({ verb }) => verb),
    ["filter", "score"],
  );
  const body = extender.requests[0]?.body;
  assert.equal(body?.Pod.metadata.name, "p");
  assert.equal(body?.NodeNames, null);
});

test("one that knows the nodes gets names, and what it refuses is said with its reasons", async () => {
  await using extender = await startExtender(() => ({
    body: { NodeNames: [], FailedNodes: { a: "too loud" }, FailedAndUnresolvableNodes: { b: "on fire" } },
  }));
  await using cluster = await withExtenders({
    urlPrefix: `${extender.url}/`,
    filterVerb: "filter",
    nodeCacheCapable: true,
  });
  await nodes(cluster, "a", "b");
  await cluster.havePod("p");
  assert.match(await messageOf(cluster, "p"), /^Unschedulable: 0\/2 nodes are available: 1 on fire, 1 too loud\./);
  const body = extender.requests[0]?.body;
  assert.deepEqual([body?.NodeNames.toSorted(), body?.Nodes], [["a", "b"], null]);
});

test("a pod that an extender refused is tried again when anything changes", async () => {
  let isOpen = false;
  await using extender = await startExtender(({ body }) => ({
    body: { nodenames: isOpen ? body.NodeNames : [] },
  }));
  await using cluster = await withExtenders({ urlPrefix: extender.url, filterVerb: "filter", nodeCacheCapable: true });
  await nodes(cluster, "a");
  await cluster.havePod("p");
  await messageOf(cluster, "p");
  isOpen = true;
  await nodes(cluster, "b");
  await isPlaced(cluster, "p");
});

test("an extender is asked only about pods with a resource that it manages, and nobody else counts that", async () => {
  await using extender = await startExtender(({ body }) => ({
    body: { NodeNames: body.NodeNames },
  }));
  await using cluster = await withExtenders({
    urlPrefix: extender.url,
    filterVerb: "filter",
    nodeCacheCapable: true,
    managedResources: [{ name: "example.com/lamp", ignoredByScheduler: true }],
  });
  await nodes(cluster, "a");
  await cluster.havePod("plain");
  const lamps = { "example.com/lamp": "1" };
  await cluster.havePod("lit", {
    spec: { containers: [{ name: "app", image: "app", resources: { requests: lamps, limits: lamps } }] },
  });
  await isPlaced(cluster, "plain");
  await isPlaced(cluster, "lit");
  assert.deepEqual(
    extender.requests.map(({ body }) => body.Pod.metadata.name),
    ["lit"],
  );
});

test("an extender binds pods in place of the scheduler, and its refusal is one", async () => {
  let client: SchedulingCluster["client"] | undefined;
  await using extender = await startExtender(async ({ body }) => {
    const { PodName: name, PodNamespace: namespace, PodUID: uid, Node } = body;
    if (name === "unlucky") return { body: { Error: "not today" } };
    const target = { kind: "Node", name: Node ?? "" };
    await client?.create(Binding, { metadata: { namespace, name, uid }, target }, { of: Pod, subresource: "binding" });
    return { body: {} };
  });
  await using cluster = await withExtenders({ urlPrefix: extender.url, bindVerb: "bind" });
  client = cluster.client;
  await nodes(cluster, "a");
  await cluster.havePod("p");
  await isPlaced(cluster, "p");
  assert.deepEqual(extender.requests[0]?.body, {
    PodName: "p",
    PodNamespace: "default",
    PodUID: (await cluster.pod("p")).metadata.uid,
    Node: "a",
  });
  await cluster.havePod("unlucky");
  assert.match(await messageOf(cluster, "unlucky"), /^SchedulerError: .*not today/);
});

test("an extender says who is sent away, and where", async () => {
  const chosen: string[] = [];
  await using extender = await startExtender(({ body }) => {
    const { NodeNameToMetaVictims } = body;
    const b = NodeNameToMetaVictims.b;
    chosen.push(...Object.keys(NodeNameToMetaVictims).toSorted());
    return { body: { NodeNameToMetaVictims: b ? { b } : {} } };
  });
  await using cluster = await withExtenders({
    urlPrefix: extender.url,
    preemptVerb: "preempt",
    nodeCacheCapable: true,
  });
  await nodes(cluster, "a", "b");
  for (const name of ["low-1", "low-2"])
    await cluster.havePod(name, asking({ cpu: "2" }, { terminationGracePeriodSeconds: 0 }));
  for (const name of ["low-1", "low-2"]) await isPlaced(cluster, name);
  await cluster.havePod("high", asking({ cpu: "2" }, { priority: 1000 }));
  await isPlaced(cluster, "high");
  assert.equal(await cluster.nodeOf("high"), "b");
  assert.deepEqual(chosen, ["a", "b"]);
});

const troubles: readonly [string, (body: ExtenderBody) => ExtenderAnswer | Promise<ExtenderAnswer>, RegExp][] = [
  [
    "answers with an error",
    () => ({ code: 500, body: {} }),
    /failed filter with extender at URL .*\/scheduler\/filter, code 500/,
  ],
  ["says what went wrong", () => ({ body: { Error: "I am tired" } }), /I am tired/],
  ["answers with no JSON", () => ({ raw: "<html>" }), /invalid character/],
  [
    "hangs up in the middle of its answer",
    () => ({ body: { NodeNames: ["a"] }, cut: true }),
    /aborted|hang up|ECONNRESET/,
  ],
  [
    "names a node that it was not asked about",
    () => ({ body: { NodeNames: ["elsewhere"] } }),
    /claims a filtered node "elsewhere"/,
  ],
  ["never answers", () => new Promise<ExtenderAnswer>(() => undefined), /context deadline exceeded/],
];
for (const [trouble, answer, message] of troubles)
  test(`an extender that ${trouble} fails the pod, unless it is ignorable`, async () => {
    await using extender = await startExtender(({ body }) => answer(body));
    const settings = { urlPrefix: extender.url, filterVerb: "filter", nodeCacheCapable: true, httpTimeout: "400ms" };
    {
      await using cluster = await withExtenders(settings);
      await nodes(cluster, "a");
      await cluster.havePod("p");
      assert.match(await messageOf(cluster, "p"), message);
    }
    await using cluster = await withExtenders({ ...settings, ignorable: true });
    await nodes(cluster, "a");
    await cluster.havePod("p");
    await isPlaced(cluster, "p");
  });

test("scores that make no sense do not count, and the pod is placed all the same", async () => {
  await using extender = await startExtender(() => ({ body: [{ Host: "a", Score: "many" }] }));
  await using cluster = await withExtenders({ urlPrefix: extender.url, prioritizeVerb: "score", weight: 1 });
  await nodes(cluster, "a", "b");
  await cluster.havePod("p");
  await isPlaced(cluster, "p");
});

test("a node that goes while an extender thinks is not given to the pod", async () => {
  let cluster: SchedulingCluster | undefined;
  await using extender = await startExtender(async ({ body }) => {
    if (extender.requests.length === 1) {
      await cluster?.client.delete(Node, { name: "a" });
      for (let i = 0; i < 200; i++) await turn(); // the scheduler hears of it
    }
    return { body: { NodeNames: body.NodeNames } };
  });
  await using made = await withExtenders({
    urlPrefix: extender.url,
    filterVerb: "filter",
    nodeCacheCapable: true,
    httpTimeout: "60s",
  });
  cluster = made;
  await nodes(made, "a");
  await made.havePod("p");
  await until(made, async () => extender.requests.length > 0 && conditionOf(await made.pod("p")) !== undefined);
  assert.equal(await made.nodeOf("p"), undefined);
  await nodes(made, "b");
  await isPlaced(made, "p");
  assert.equal(await made.nodeOf("p"), "b");
});

const dayMs = 24 * 60 * 60 * 1000;
test("an extender behind TLS is verified, and sees who asks", async () => {
  const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };
  const authority = makeAuthority(validity, "extenders");
  const serving = makeCertificate(authority, { commonName: "extender", hosts: ["extender.example"] }, validity);
  const client = makeCertificate(authority, { commonName: "scheduler" }, validity);
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  await using extender = await startExtender(({ body }) => ({ body: { NodeNames: body.NodeNames } }), {
    ...serving,
    ca: authority.cert,
  });
  const settings = { urlPrefix: extender.url, filterVerb: "filter", nodeCacheCapable: true };
  const mine = { caData: base64(authority.cert), certData: base64(client.cert), keyData: base64(client.key) };
  {
    await using cluster = await withExtenders({ ...settings, tlsConfig: mine });
    await nodes(cluster, "a");
    await cluster.havePod("p");
    assert.match(await messageOf(cluster, "p"), /does not match certificate's altnames/);
  }
  await using cluster = await withExtenders({ ...settings, tlsConfig: { ...mine, serverName: "extender.example" } });
  await nodes(cluster, "a");
  await cluster.havePod("p");
  await isPlaced(cluster, "p");
});
