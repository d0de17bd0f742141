// Every proxy mode of this machine's kernel against the same table of situations, with real connections between network namespaces.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { inBatches } from "#base/collections.ts";
import { type ModeStage, modeStage, namespace } from "./mode-stage.ts";
import { impossible, ipvsImpossible } from "./namespace.ts";
import { balancerAddress, externalAddress, ipvsOutcome, type Situation, situations } from "./situations.ts";
import { addresses, type Place } from "./two-nodes.ts";

const modes = ["nftables", "iptables", "ipvs", "userspace"];
/** Enough for each of three endpoints to be chosen once, but for one time in a million. */
const times = 40;
const refusals: readonly string[] = ["ECONNREFUSED", "EHOSTUNREACH"];

const nameOf = (i: number) => `situation-${i}`;

/** Makes the service of a situation, and returns where it is to be asked. */
async function prepare(stage: ModeStage, { spec, balancer, endpoints, at }: Situation, i: number) {
  const name = nameOf(i);
  const made = await stage.client.create(Service, { metadata: { name, namespace }, spec });
  if (balancer)
    await stage.client.update(
      Service,
      { ...made, status: { ...made.status, loadBalancer: { ingress: [{ ip: balancerAddress(i) }] } } } as Service,
      "status",
    );
  const [port] = made.spec.ports ?? [];
  await stage.endpoints(name, [...endpoints], {
    name: "",
    port: 8080,
    ...(port?.protocol === "UDP" && { protocol: "UDP" }),
  });
  const places = {
    cluster: made.spec.clusterIP ?? "",
    "node-port": addresses.node,
    external: externalAddress(i),
    balancer: balancerAddress(i),
  };
  const protocol = port?.protocol === "UDP" ? ("udp" as const) : ("tcp" as const);
  return { to: places[at], port: at === "node-port" ? (port?.nodePort ?? 0) : 80, protocol };
}

/** What is wrong with what a situation came to, or undefined. */
async function problemOf(
  stage: ModeStage,
  situation: Situation,
  question: { to: string; port: number; protocol: "tcp" | "udp" },
  mode: string,
): Promise<string | undefined> {
  const { from, sees } = situation;
  const outcome = mode === "ipvs" ? ipvsOutcome(situation) : situation.outcome;
  const isSingle = outcome === "silence" || outcome === "refused";
  const waitMs = outcome === "silence" ? 300 : 20_000;
  const text = await stage.network.ask(from, { ...question, times: isSingle ? 1 : times, waitMs });
  const answers = text.split(",").map((answer) => answer.split(" "));
  const who = [...new Set(answers.map(([address]) => address))].sort();
  if (outcome === "silence") return text === "timeout" ? undefined : text;
  if (outcome === "refused") return refusals.includes(text) ? undefined : text;
  if (outcome === "same") return who.length === 1 && who[0]?.startsWith("10.244.") ? undefined : who.join(" ");
  const expected = outcome.map((pod) => addresses[pod]).sort();
  if (expected.join() !== who.join()) return who.join(" ");
  if (sees === undefined || mode === "userspace") return undefined;
  const senders = [...new Set(answers.map(([, sender = ""]) => sender.replace("::ffff:", "")))];
  const isSender = senders.length === 1 && senders[0] === addresses[from];
  return isSender === (sees === "sender") ? undefined : `seen as ${senders.join(" ")}`;
}

async function checkSituations(stage: ModeStage, mode: string): Promise<void> {
  const questions = await Promise.all(situations.map((situation, i) => prepare(stage, situation, i)));
  await stage.settled();
  const problems: string[] = [];
  await inBatches(8, situations.keys().toArray(), async (i) => {
    const [situation, question] = [situations[i], questions[i]];
    if (!situation || !question) return;
    const problem = await problemOf(stage, situation, question, mode);
    if (problem !== undefined) problems.push(`${situation.name}: ${String(situation.outcome)}, not ${problem}`);
  });
  assert.deepEqual(problems, []);
}

const pods = [addresses.pod, addresses["second pod"], addresses["remote pod"]];

/** Connections stay with the endpoint that they have, also while it is no endpoint any more. */
async function checkOpenConnections(stage: ModeStage): Promise<void> {
  const made = await stage.client.create(Service, {
    metadata: { name: "long", namespace },
    spec: { type: "NodePort", ports: [{ port: 81 }] },
  });
  const endpointsOf = (chosen: readonly string[]) =>
    chosen.map((address) => ({ addresses: [address], nodeName: "n1" }));
  const change = (chosen: readonly string[]) => stage.endpoints("long", endpointsOf(chosen), { name: "", port: 8081 });
  await change(pods);
  await stage.settled();
  const at = { to: made.spec.clusterIP ?? "", port: 81, act: "hold" } as const;
  const nodePort = { to: addresses.node, port: made.spec.ports?.[0]?.nodePort ?? 0, act: "hold" } as const;
  const held = { pod: 5, node: 5, client: 5 } as const;
  for (let i = 0; i < 5; i++) {
    assert.ok(pods.includes((await stage.network.ask("pod", at)) as (typeof pods)[number]));
    await stage.network.ask("node", at);
    await stage.network.ask("client", nodePort);
  }
  for (let i = 0; i < 200; i++) await change(pods.filter((_, pod) => (i >> pod) % 2 === 0));
  await stage.settled();
  for (const [place, count] of Object.entries(held))
    assert.equal(await stage.network.ask(place as Place, { to: "", port: 0, act: "poke" }), String(count), place);
}

/** The kernel and the forwarder know no end of a flow of datagrams: they must forget it. */
async function checkDatagrams(stage: ModeStage): Promise<void> {
  const udp = { name: "", port: 8080, protocol: "UDP" } as const;
  const { spec } = await stage.client.create(Service, {
    metadata: { name: "flow", namespace },
    spec: { ports: [{ port: 53, protocol: "UDP" }] },
  });
  const ask = () => stage.network.ask("pod", { to: spec.clusterIP ?? "", port: 53, protocol: "udp" });
  await ask(); // it begins before there is anyone to answer
  for (const address of [addresses["second pod"], addresses["remote pod"]]) {
    await stage.endpoints("flow", [{ addresses: [address], nodeName: "n1" }], udp);
    await stage.settled();
    for (let asked = 0; ; asked++) {
      const answer = await ask();
      if (answer === address) break;
      assert.ok(asked < 100, `the same socket goes on asking, and ${answer} answers`);
    }
  }
}

const foreign = `*nat
:FOREIGN - [0:0]
-A PREROUTING -p tcp -m tcp --dport 9 -j FOREIGN
-A FOREIGN -j RETURN
COMMIT
`;

async function checkCleanup(stage: ModeStage): Promise<void> {
  const { network } = stage;
  await stage.stop();
  const rules = () => `${network.run("node", ["nft", "list", "ruleset"])}${network.run("node", ["iptables-save"])}`;
  assert.match(rules(), /knarr-proxy|KUBE-/);
  for (let round = 0; round < 2; round++) {
    await stage.cleanUp();
    assert.doesNotMatch(rules(), /knarr-proxy|KUBE-/);
  }
  assert.match(rules(), /-A PREROUTING -p tcp -m tcp --dport 9 -j FOREIGN/);
}

for (const mode of modes)
  test(`${mode}: ${situations.length} situations, connections that endpoints come and go under, and what is left`, {
    skip: mode === "ipvs" ? ipvsImpossible : impossible,
  }, async () => {
    await using stage = await modeStage(mode);
    stage.network.run("node", ["iptables-restore", "--noflush"], foreign);
    await checkSituations(stage, mode);
    await checkDatagrams(stage);
    await checkOpenConnections(stage);
    await checkCleanup(stage);
  });
