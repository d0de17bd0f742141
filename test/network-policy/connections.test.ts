// Network policies against the kernel: real connections between all pods of two nodes, in network namespaces that no packet can leave.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { removePolicyRules } from "#network/policy/enforcer.ts";
import { PolicyTable } from "#network/policy/policy-table.ts";
import { Peer } from "../network/peer.ts";
import { impossible, namespace, PodNetwork, runIn } from "./kernel.ts";
import { type Connection, isAllowed, type ModelWorld } from "./model.ts";
import { portNumbers, situationPods, strangerAddresses, worldsOfSituations } from "./situations.ts";
import { nodes, policyOf, policyPod, tableFor } from "./worlds.ts";

const { signal } = new AbortController();
const everybody = [...situationPods.flatMap(({ addresses }) => addresses), ...strangerAddresses];

const connections: readonly Connection[] = everybody.flatMap((from) =>
  everybody
    .filter((to) => from.includes(":") === to.includes(":"))
    .flatMap((to) =>
      portNumbers.flatMap((port) => (["TCP", "UDP"] as const).map((protocol) => ({ from, to, protocol, port }))),
    ),
);

const makeNetwork = () => PodNetwork.make(everybody, portNumbers);

/** Replaces the rules of both nodes. */
async function enforce(network: PodNetwork, state: ModelWorld): Promise<void> {
  for (const node of nodes)
    await runIn(network.nodes[node])(["nft", "-f", "-"], { input: tableFor(state, node).rewrite(), signal });
}

const shown = ({ from, to, protocol, port }: Connection) => `${from} → ${to} ${protocol} ${port}`;

test("30 policies let through what the documentation allows, between all pods, at all ports", {
  skip: impossible,
}, async () => {
  assert.equal(worldsOfSituations.length, 30);
  await using network = await makeNetwork();
  for (const { name, world } of worldsOfSituations) {
    await enforce(network, world);
    const probes = connections.map((one) => ({ ...one, isExpected: isAllowed(world, one) }));
    const answered = await network.round(probes);
    const wrong = probes.flatMap((probe, i) =>
      probe.isExpected === answered[i] ? [] : [`${shown(probe)} is ${answered[i] ? "let through" : "dropped"}`],
    );
    assert.deepEqual(wrong, [], name);
  }
});

const at = (namespaceName: string, name: string, family: 0 | 1 = 0): string =>
  situationPods.find((one) => one.namespace === namespaceName && one.name === name)?.addresses[family] ?? "";
const open: ModelWorld = {
  pods: situationPods,
  namespaces: { x: { ns: "x" }, y: { ns: "y" }, z: { ns: "z" } },
  policies: [],
};
const closed: ModelWorld = { ...open, policies: [policyOf("deny", "x", { policyTypes: ["Ingress"] })] };

async function until(check: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; !(await check()); looks++) {
    assert.ok(looks < 3_000, "it never happened");
    await pause(20);
  }
}

test("an open connection stops in both directions when a policy forbids it, and others go on", {
  skip: impossible,
}, async () => {
  await using network = await makeNetwork();
  await enforce(network, open);
  const way = { from: at("y", "a"), to: at("x", "a"), port: 80 };
  const cases = [
    { name: "tcp", protocol: "TCP", ...way },
    { name: "tcp6", protocol: "TCP", from: at("y", "b", 1), to: at("x", "b", 1), port: 80 },
    { name: "udp", protocol: "UDP", ...way },
    { name: "free", protocol: "TCP", ...way, to: at("z", "a") },
  ] as const;
  for (const { name, ...connection } of cases) assert.equal(await network.open(name, connection), "open");
  await network.say("udp", "client", "before");
  await until(async () => (await network.heard("udp", "client")) === "before");
  const forbidden = ["tcp", "tcp6"] as const;
  for (const name of forbidden) {
    await network.say(name, "client", "up.");
    await network.say(name, "server", "down.");
    await until(
      async () => (await network.heard(name, "server")) === "up." && (await network.heard(name, "client")) === "down.",
    );
  }

  await enforce(network, closed);
  for (const name of forbidden) {
    await network.say(name, "client", "late.");
    await network.say(name, "server", "late.");
  }
  await network.say("udp", "client", "late");
  await network.say("free", "client", "on.");
  await until(async () => (await network.heard("free", "server")) === "on.");
  await pause(100);
  for (const name of forbidden) {
    assert.equal(await network.heard(name, "server"), "up.", `${name}: nothing more comes in`);
    assert.equal(await network.heard(name, "client"), "down.", `${name}: nothing more goes out`);
  }
  assert.equal(await network.heard("udp", "client"), "before");

  await enforce(network, open);
  for (const name of forbidden)
    await until(
      async () =>
        (await network.heard(name, "server")) === "up.late." && (await network.heard(name, "client")) === "down.late.",
    );
});

test("policies are about the pod behind a service, and a pod reaches itself through one", {
  skip: impossible,
}, async () => {
  await using network = await makeNetwork();
  const rule = (service: string, target: string) => `ip daddr ${service} tcp dport 8000 dnat to ${target}:81`;
  const services = { own: "10.96.0.1", other: "10.96.0.2" };
  const script = `table ip services {
    chain prerouting {
      type nat hook prerouting priority dstnat; policy accept;
      ${rule(services.own, at("x", "a"))}
      ${rule(services.other, at("y", "a"))}
    }
    chain postrouting {
      type nat hook postrouting priority srcnat; policy accept;
      ip saddr ${at("x", "a")} ip daddr ${at("x", "a")} masquerade
    }
  }`;
  for (const node of nodes) await runIn(network.nodes[node])(["nft", "-f", "-"], { input: script, signal });
  const asks = (from: string, to: string, isExpected: boolean) => ({
    from,
    to,
    port: 8000,
    protocol: "TCP" as const,
    isExpected,
  });
  const policy = (port: number) =>
    policyOf("out", "x", {
      egress: [{ to: [{ namespaceSelector: { matchLabels: { ns: "y" } } }], ports: [{ port }] }],
    });
  for (const port of [81, 8000]) {
    await enforce(network, { ...open, policies: [policy(port)] });
    const probes = [
      asks(at("x", "a"), services.other, port === 81),
      asks(at("x", "a"), services.own, true),
      asks(at("x", "b"), services.own, false),
    ];
    assert.deepEqual(
      await network.round(probes),
      probes.map(({ isExpected }) => isExpected),
      `port ${port}`,
    );
  }
});

/** Whether somebody answers at port 80 within the seconds. */
const answersNode = (netns: string, address: string, seconds: number): boolean =>
  spawnSync(
    "timeout",
    [`${seconds}`, "nsenter", `--net=/run/netns/${netns}`, "bash", "-c", `read -n1 <> /dev/tcp/${address}/80`],
    { stdio: "ignore" },
  ).status === 0;

test("a node reaches its own pods whatever policies say, and they reach it; other nodes do not", {
  skip: impossible,
}, async () => {
  await using network = await makeNetwork();
  await enforce(network, { ...open, policies: [policyOf("deny", "x", { policyTypes: ["Ingress", "Egress"] })] });
  const [own, other] = [at("x", "a"), at("x", "b")];
  assert.equal(own.split(".")[2], "1");
  assert.equal(other.split(".")[2], "2");
  await using _node = await Peer.start("n1", `/run/netns/${network.nodes.n1}`);
  assert.equal(answersNode(network.nodes.n1, own, 30), true);
  assert.equal(answersNode(network.nodes.n1, other, 1), false);
  // The node answers its pods at the end of their cable.
  const [answered] = await network.round([
    { from: own, to: "10.0.1.1", port: 8080, protocol: "TCP", isExpected: true },
  ]);
  assert.equal(answered, true);
});

test("whoever is where the kubelet is gets in, and nobody gets out to there", { skip: impossible }, async () => {
  await using network = await makeNetwork();
  const [stranger] = strangerAddresses;
  const table = new PolicyTable([...strangerAddresses]);
  const pod = situationPods.find(({ addresses }) => addresses[0] === at("x", "a"));
  assert.ok(pod);
  table.setPod("x/a", policyPod(pod, "n1"));
  table.setPolicy("x/deny", policyOf("deny", "x", { policyTypes: ["Ingress", "Egress"] }));
  await runIn(network.nodes.n1)(["nft", "-f", "-"], { input: table.rewrite(), signal });
  const probe = (from: string, to: string, isExpected: boolean) =>
    ({ from, to, port: 80, protocol: "TCP", isExpected }) as const;
  const probes = [
    probe(stranger, at("x", "a"), true),
    probe(at("x", "a"), stranger, false),
    probe(at("y", "b"), at("x", "a"), false),
  ];
  assert.deepEqual(
    await network.round(probes),
    probes.map(({ isExpected }) => isExpected),
  );
});

test("what others have in the kernel stays as it is, and nothing of ours is left after cleaning up", {
  skip: impossible,
}, async () => {
  using place = namespace("clean");
  const run = runIn(place.name);
  const listing = () =>
    execFileSync("nsenter", [`--net=/run/netns/${place.name}`, "nft", "-s", "list", "ruleset"], { encoding: "utf8" });
  const foreign =
    "table inet foreign {\n  chain forward {\n    type filter hook forward priority filter; policy accept;\n    tcp dport 22 drop\n  }\n}\n";
  await run(["nft", "-f", "-"], { input: foreign, signal });
  const before = listing();
  const table = new PolicyTable();
  const apply = async (input: string) => void (input !== "" && (await run(["nft", "-f", "-"], { input, signal })));
  await apply(table.rewrite());
  for (const { world } of worldsOfSituations) await apply(tableFor(world, "n1").rewrite());
  assert.ok(listing().includes("knarr-policy"));
  assert.ok(listing().startsWith(before.trimEnd()), "the other table is as it was");
  for (let times = 0; times < 2; times++) await removePolicyRules(run, signal);
  assert.equal(listing(), before);
});
