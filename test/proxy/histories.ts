// Random histories of services and endpoints, and whether the kernel's rules are what the services call for after each step.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { runProgram } from "#base/host/run-program.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { world } from "#client/testing.ts";
import { type Frontend, type FrontendFamily, frontendsOf } from "#proxy/frontends.ts";
import { endpointDelivery } from "#proxy/modes/iptables/endpoint-chains.ts";
import { FamilyRules } from "#proxy/modes/iptables/family-rules.ts";
import { type Chains, isOurs, readSaved } from "#proxy/modes/iptables/rule-set.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import type { RunOnNode } from "#proxy/proxy-mode.ts";

const families = ["IPv4", "IPv6"] as const;
const podRanges = { IPv4: "10.244.0.0/16", IPv6: "fd00:244::/56" };
const commands = { IPv4: "iptables", IPv6: "ip6tables" };

/** What others have on the node: it must be there in the end as it was. */
const foreign = `*nat
:FOREIGN - [0:0]
:KUBE-HOSTPORTS - [0:0]
-A PREROUTING -p tcp -m tcp --dport 9 -j FOREIGN
-A FOREIGN -j RETURN
COMMIT
*filter
:FOREIGN - [0:0]
-A FORWARD -s 10.1.2.3/32 -j FOREIGN
COMMIT
`;

export function randomFrontends(random: Random, name: string, family: FrontendFamily): readonly Frontend[] {
  if (random.below(6) === 0) return [];
  const w = world();
  const i = Number(name.slice(name.lastIndexOf("-") + 1));
  const isV6 = family === "IPv6";
  const clusterIP = isV6 ? `fd00:96::${i + 1}` : `10.96.0.${i + 1}`;
  const outside = isV6 ? `fd00:172::${i + 1}` : `172.31.0.${i + 1}`;
  const [type, externalPolicy, internalPolicy] = [random.below(3), random.below(2), random.below(4)];
  const service = w.have(Service, {
    metadata: { namespace: "ns", name: name.slice(3) },
    spec: {
      type: type === 0 ? "ClusterIP" : type === 1 ? "NodePort" : "LoadBalancer",
      clusterIP,
      clusterIPs: [clusterIP],
      ...(type > 0 && externalPolicy > 0 && { externalTrafficPolicy: "Local", healthCheckNodePort: 31_000 + i }),
      ...(internalPolicy === 0 && { internalTrafficPolicy: "Local" }),
      ...(random.below(3) === 0 && { sessionAffinity: "ClientIP" }),
      ...(random.below(3) === 0 && { externalIPs: [outside] }),
      ...(random.below(2) === 0 && { loadBalancerSourceRanges: [isV6 ? "fd00:1::/64" : "10.1.0.0/16"] }),
      ports: [
        { name: "http", port: 80, ...(type > 0 && { nodePort: 30_000 + i }) },
        ...(random.below(2) === 0 ? [{ name: "dns", port: 53, protocol: "UDP" as const }] : []),
      ],
    },
    ...(type === 2 && { status: { loadBalancer: { ingress: [{ ip: outside.replace("172", "173") }] } } }),
  });
  const slice = w.have(EndpointSlice, {
    metadata: { namespace: "ns", name: `${name.slice(3)}-1` },
    addressType: family,
    endpoints: Array.from({ length: random.below(4) }, () => ({
      addresses: [isV6 ? `fd00:244::${1 + random.below(99)}` : `10.244.0.${1 + random.below(99)}`],
      nodeName: random.below(2) === 0 ? "n1" : "n2",
    })),
    ports: [
      { name: "http", port: 8080 },
      { name: "dns", port: 5353, protocol: "UDP" },
    ],
  });
  return frontendsOf(service, [slice], { name: "n1" }, family);
}

/** What the services call for, computed from nothing. */
function expectedRules(state: ReadonlyMap<string, readonly Frontend[]>, family: FrontendFamily) {
  const rules = new FamilyRules({
    family,
    podRange: podRanges[family],
    masquerades: true,
    masqueradesAll: false,
    markBit: 0x4000,
    nodeAddresses: [],
    localhostNodePorts: false,
    nodePortRanges: [],
    deliver: (isLarge) => endpointDelivery(family, isLarge),
  });
  rules.change(state);
  return inOrder(rules.chains);
}

/** Which service comes first in the chains that they share does not matter; but the order within other chains does. */
const inOrder = (chains: Chains) =>
  Object.fromEntries(
    [...chains].sort().map(([chain, rules]) => [chain, sharedChain.test(chain) ? [...rules].sort() : rules]),
  );
const sharedChain = / KUBE-(SERVICES|EXTERNAL-SERVICES|NODEPORTS|PROXY-FIREWALL)$/;

export interface HistoryOptions {
  readonly seed: number;
  readonly steps: number;
  readonly kind: "nft" | "legacy";
  /** How many there are; with many, the chains that all services share are edited and not rewritten. */
  readonly services: number;
}

/** Plays a history in a namespace of its own, with programs of one kind; throws at the first difference. */
export async function playIptablesHistory(options: HistoryOptions): Promise<void> {
  const { seed, steps, kind, services } = options;
  const names = Array.from({ length: services }, (_, i) => `ns/service-${i}`);
  const random = seededRandom(seed);
  const namespace = `knarr-history-${process.pid}-${seed}`;
  const { signal } = new AbortController();
  execFileSync("ip", ["netns", "add", namespace]);
  const run: RunOnNode = ([program = "", ...args], options) => {
    const chosen = program.replace(/^(ip6?tables)(?=-save|-restore|$)/, `$1-${kind}`);
    return runProgram(["ip", "netns", "exec", namespace, chosen, ...args], options);
  };
  try {
    const { mode } = chooseMode("iptables", { run, families, podRanges: Object.values(podRanges) });
    await run(["iptables-restore", "--noflush"], { input: foreign, signal });
    const before = rulesIn(await run(["iptables-save"], { signal }));
    const states = new Map(families.map((family) => [family, new Map<string, readonly Frontend[]>()]));
    for (let step = 0; step < steps; step++) {
      const isFirst = step === 0;
      const changes = families.flatMap((family) =>
        Array.from(
          new Set(Array.from({ length: 1 + random.below(3) }, () => names[random.below(names.length)] ?? "")),
        ).map((service) => ({ service, family, frontends: randomFrontends(random, service, family) })),
      );
      for (const { service, family, frontends } of changes) states.get(family)?.set(service, frontends);
      if (isFirst || random.below(12) === 0) await mode.rewrite(changes, signal);
      else await mode.change(changes, signal);
      for (const family of families) {
        const kernel = readSaved(await run([`${commands[family]}-save`], { signal }));
        const ours = inOrder(new Map([...kernel].filter(([chain]) => isOurs(chain))));
        assert.deepEqual(ours, expectedRules(states.get(family) ?? new Map(), family), `seed ${seed}, step ${step}`);
        assert.match(kernel.get("nat KUBE-SERVICES")?.at(-1) ?? "", /must be the last rule/);
      }
    }
    assert.equal(await mode.isIntact?.(signal), true);
    await mode.cleanup(signal);
    const after = rulesIn(await run(["iptables-save"], { signal }));
    assert.deepEqual(after, before, "the rules of others are as they were, and none of ours are left");
    assert.doesNotMatch(await run(["ip6tables-save"], { signal }), /KUBE-/);
    assert.equal(await mode.isIntact?.(signal), false);
  } finally {
    execFileSync("ip", ["netns", "del", namespace]);
  }
}

/** Without tables that hold nothing: reading or writing makes them. */
const rulesIn = (saved: string) =>
  Object.fromEntries(
    [...readSaved(saved)]
      .filter(([chain, rules]) => rules.length > 0 || !/ [A-Z]+$/.test(chain) || / FOREIGN/.test(chain))
      .sort(),
  );
