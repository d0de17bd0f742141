// The rules that policies become, without a kernel: held against the plain model, and against themselves made in another order.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { seededRandom } from "#base/random.ts";
import { world } from "#client/testing.ts";
import { policyPodOf } from "#network/policy/policy-pod.ts";
import { parseTable, passes } from "./evaluate.ts";
import { History } from "./history.ts";
import { type Connection, isAllowed, type ModelPod, type ModelWorld } from "./model.ts";
import { keyOf, nodes, policyOf, policyPod, randomWorld, tableFor } from "./worlds.ts";

const strangers = ["192.0.2.7", "fd00:99::7"];

function* connectionsIn({ pods }: ModelWorld): Iterable<Connection> {
  const addresses = [...pods.flatMap((pod) => pod.addresses), ...strangers];
  for (const from of addresses)
    for (const to of addresses)
      if (from.includes(":") === to.includes(":"))
        for (const protocol of ["TCP", "UDP", "SCTP"] as const)
          for (const port of [79, 80, 81, 91]) yield { from, to, protocol, port };
}

function checkWorld(state: ModelWorld, what: string): void {
  const tables = nodes.map((node) => parseTable(tableFor(state, node).rewrite()));
  for (const connection of connectionsIn(state)) {
    const isThrough = tables.every((table) => passes(table, connection));
    if (isThrough !== isAllowed(state, connection))
      assert.fail(`${what}: ${JSON.stringify(connection)} is ${isThrough ? "let through" : "dropped"}`);
  }
}

test("rules let through exactly what the documentation allows, for random policies, pods and namespaces", () => {
  for (let seed = 1; seed <= 40; seed++) checkWorld(randomWorld(seededRandom(seed)), `seed ${seed}`);
});

const sorted = (script: string): readonly string[] => {
  const { sets, chains } = parseTable(script);
  return [
    ...[...sets].map(([name, elements]) => `${name} { ${elements.toSorted().join(", ")} }`),
    ...[...chains].map(([name, rules]) => `${name}: ${rules.join("; ")}`),
  ].toSorted();
};

test("a table that has followed a history is the one that its end gives", () => {
  for (let seed = 1; seed <= 12; seed++) {
    const history = new History(seededRandom(seed), "n1");
    for (let step = 0; step < 120; step++) {
      history.step();
      if (step % 3 === 0) history.table.changes();
      if (step % 5 === 0)
        assert.deepEqual(
          sorted(history.table.rewrite()),
          sorted(tableFor(history.state, "n1").rewrite()),
          `seed ${seed}, step ${step}`,
        );
    }
  }
});

const web: ModelPod = {
  name: "web",
  namespace: "x",
  labels: { app: "web" },
  addresses: ["10.244.1.1"],
  node: "n1",
  ports: [],
};

test("a pod that comes or goes changes elements and no rules", () => {
  const table = tableFor(
    {
      policies: [policyOf("own", "x", { ingress: [{ from: [{ podSelector: {} }] }] })],
      pods: [web],
      namespaces: { x: {} },
    },
    "n1",
  );
  assert.equal(
    table
      .rewrite()
      .split("\n")
      .filter((line) => line.startsWith("add rule")).length,
    4,
  );
  assert.equal(table.changes(), "");
  const other = { ...web, name: "other", addresses: ["10.244.1.2"] };
  table.setPod("x/other", policyPod(other, "n1"));
  assert.match(table.changes(), /^(add element .*\n){3}$/);
  table.setPod("x/other", policyPod(other, "n1"));
  assert.equal(table.changes(), "", "one that is as it was changes nothing");
  table.setPod("x/other", undefined);
  assert.match(table.changes(), /^(delete element .*\n){3}$/);
});

test("a node knows nothing of policies that are for pods of other nodes", () => {
  const state: ModelWorld = {
    policies: [policyOf("own", "x", { ingress: [{ from: [{ podSelector: {} }], ports: [{ port: "web" }] }] })],
    pods: [web],
    namespaces: { x: {} },
  };
  assert.doesNotMatch(tableFor(state, "n2").rewrite(), /add (set|chain|rule|element)/);
});

test("when the last policy goes, so does all that it brought", () => {
  let chains = 0;
  for (let seed = 1; seed <= 10; seed++) {
    const state = randomWorld(seededRandom(seed));
    const table = tableFor(state, "n1");
    table.changes();
    chains += table.size.chains;
    for (const policy of state.policies) table.setPolicy(keyOf(policy), undefined);
    table.changes();
    assert.doesNotMatch(table.rewrite(), /add (set|chain|rule|element)/);
  }
  assert.ok(chains > 20);
});

test("an address that two pods claim is limited by the policies of both", () => {
  const leaving = { ...web, name: "leaving", labels: { app: "leaving" } };
  const state: ModelWorld = {
    policies: [
      policyOf("web", "x", { podSelector: { matchLabels: { app: "web" } } }),
      policyOf("leaving", "x", { podSelector: { matchLabels: { app: "leaving" } } }),
    ],
    pods: [web, leaving],
    namespaces: { x: {} },
  };
  const table = tableFor(state, "n1");
  assert.match(table.rewrite(), /jump \S+ comment "x\/leaving"\n.*jump \S+ comment "x\/web"/);
  table.setPod("x/leaving", undefined);
  const after = table.rewrite();
  assert.match(after, /comment "x\/web"/);
  assert.doesNotMatch(after, /comment "x\/leaving"/);
});

const pods: readonly (readonly [string, Parameters<typeof makePod>, boolean])[] = [
  ["a pod with an address", [{}, { podIPs: [{ ip: "10.244.1.1" }] }], true],
  ["a pod without an address", [{}, {}], false],
  ["a pod on the network of its node", [{ hostNetwork: true }, { podIPs: [{ ip: "172.31.0.10" }] }], false],
  ["a pod that has ended", [{}, { phase: "Succeeded", podIPs: [{ ip: "10.244.1.1" }] }], false],
];
function makePod(spec: object, status: object): Pod {
  return world().have(Pod, {
    metadata: { name: "p", namespace: "x" },
    spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }], ...spec },
    status,
  });
}
for (const [what, parts, isMeant] of pods)
  test(`policies are ${isMeant ? "" : "not "}about ${what}`, () =>
    assert.equal(policyPodOf(makePod(...parts), "n1") !== undefined, isMeant));

test("named ports are those of containers and sidecars, not of init containers that end", () => {
  const ports = (name: string, containerPort: number) => [{ name, containerPort }];
  const pod = makePod(
    {
      containers: [{ name: "c", image: "i", ports: ports("web", 80) }],
      initContainers: [
        { name: "s", image: "i", restartPolicy: "Always", ports: ports("side", 81) },
        { name: "t", image: "i", ports: ports("init", 82) },
      ],
    },
    { podIP: "10.244.1.1" },
  );
  assert.deepEqual(
    policyPodOf(pod, "n1")?.ports.map(({ name, port }) => `${name} ${port}`),
    ["web 80", "side 81"],
  );
});
