// Every proxy mode of this machine's kernel against the same table of situations, with real connections between network namespaces.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { inBatches } from "#base/collections.ts";
import { type ModeStage, modeStage, namespace } from "./mode-stage.ts";
import { impossible } from "./namespace.ts";
import { balancerAddress, externalAddress, type Situation, situations } from "./situations.ts";
import { addresses } from "./two-nodes.ts";

const modes = ["nftables", "iptables"];
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
  hidesSenders: boolean,
): Promise<string | undefined> {
  const { outcome, from, sees } = situation;
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
  if (sees === undefined || hidesSenders) return undefined;
  const senders = [...new Set(answers.map(([, sender = ""]) => sender.replace("::ffff:", "")))];
  const isSender = senders.length === 1 && senders[0] === addresses[from];
  return isSender === (sees === "sender") ? undefined : `seen as ${senders.join(" ")}`;
}

for (const mode of modes)
  test(`${mode}: what becomes of traffic in ${situations.length} situations`, { skip: impossible }, async () => {
    await using stage = await modeStage(mode);
    const questions = await Promise.all(situations.map((situation, i) => prepare(stage, situation, i)));
    await stage.settled();
    const problems: string[] = [];
    await inBatches(8, situations.keys().toArray(), async (i) => {
      const [situation, question] = [situations[i], questions[i]];
      if (!situation || !question) return;
      const problem = await problemOf(stage, situation, question, mode === "userspace");
      if (problem !== undefined) problems.push(`${situation.name}: ${String(situation.outcome)}, not ${problem}`);
    });
    assert.deepEqual(problems, []);
  });
