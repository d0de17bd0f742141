// Thirty situations of network policies, after what upstream's conformance tests look at: three namespaces x, y and z with pods a, b and c
// each, a stranger outside, and policies in namespace x.
import type { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { Draft } from "#schema/infer.ts";
import type { ModelPod, ModelWorld } from "./model.ts";
import { policyOf } from "./worlds.ts";

type Spec = Draft<NetworkPolicy["spec"]>;

export const strangerAddresses = ["192.0.2.7", "fd00:99::7"] as const;
export const portNumbers = [80, 81] as const;

export const situationPods: readonly ModelPod[] = ["x", "y", "z"].flatMap((namespace, n) =>
  ["a", "b", "c"].map((name, p) => {
    const node = (n + p) % 2 === 0 ? 1 : 2;
    const last = n * 3 + p + 1;
    return {
      name,
      namespace,
      labels: { pod: name },
      addresses: [`10.244.${node}.${last}`, `fd00:244:${node}::${last}`],
      node: `n${node}`,
      // The same name is another number in each pod, and c has none of it.
      ports: [
        ...(name === "c" ? [] : [{ name: "serve", protocol: "TCP", port: name === "a" ? 80 : 81 }]),
        { name: "serve-udp", protocol: "UDP", port: name === "a" ? 81 : 80 },
      ],
    };
  }),
);

const namespaces = { x: { ns: "x" }, y: { ns: "y" }, z: { ns: "z" } };
const pod = (name: string) => ({ matchLabels: { pod: name } });
const ns = (name: string) => ({ matchLabels: { ns: name } });
const expression = (key: string, operator: "In" | "NotIn", ...values: readonly string[]) => ({
  matchExpressions: [{ key, operator, values: [...values] }],
});
const addressOf = (namespace: string, name: string) =>
  situationPods.find((one) => one.namespace === namespace && one.name === name)?.addresses ?? [];
const [xa4 = "", xa6 = ""] = addressOf("x", "a");
const [yb4 = ""] = addressOf("y", "b");

const deny: Spec = { policyTypes: ["Ingress"] };
const denyOut: Spec = { policyTypes: ["Egress"] };

/** Each has a name and the policies of namespace x. */
const situations: readonly (readonly [string, ...Spec[]])[] = [
  ["nothing comes in", deny],
  ["nothing goes out", denyOut],
  ["nothing comes in or goes out", { policyTypes: ["Ingress", "Egress"] }],
  ["everything comes in", { ingress: [{}] }],
  ["everything goes out", { policyTypes: ["Egress"], egress: [{}] }],
  ["nothing comes in to some", { ...deny, podSelector: pod("a") }],
  ["nothing goes out of some", { ...denyOut, podSelector: expression("pod", "In", "a", "b") }],
  ["from pods of the same namespace", { ingress: [{ from: [{ podSelector: pod("b") }] }] }],
  ["from all pods of the same namespace", { ingress: [{ from: [{ podSelector: {} }] }] }],
  ["from another namespace", { ingress: [{ from: [{ namespaceSelector: ns("y") }] }] }],
  ["from all namespaces", { ingress: [{ from: [{ namespaceSelector: {} }] }] }],
  ["from pods of another namespace", { ingress: [{ from: [{ namespaceSelector: ns("y"), podSelector: pod("a") }] }] }],
  [
    "from another namespace or from pods of this one",
    { ingress: [{ from: [{ namespaceSelector: ns("y") }, { podSelector: pod("a") }] }] },
  ],
  [
    "from all namespaces but one, by expressions",
    {
      ingress: [
        { from: [{ namespaceSelector: expression("ns", "NotIn", "x"), podSelector: expression("pod", "NotIn", "c") }] },
      ],
    },
  ],
  ["at one port", { ingress: [{ ports: [{ port: 80 }] }] }],
  ["at one port over UDP", { ingress: [{ ports: [{ protocol: "UDP", port: 81 }] }] }],
  ["at all ports of a protocol", { ingress: [{ ports: [{ protocol: "UDP" }] }] }],
  ["at a port by name", { ingress: [{ ports: [{ port: "serve" }, { protocol: "UDP", port: "serve-udp" }] }] }],
  ["at a range of ports", { ingress: [{ ports: [{ port: 81, endPort: 90 }] }] }],
  ["at several ports", { ingress: [{ ports: [{ port: 80 }, { port: 81 }, { protocol: "UDP", port: 80 }] }] }],
  [
    "from a namespace at one port, and from another at another",
    {
      ingress: [
        { from: [{ namespaceSelector: ns("y") }], ports: [{ port: 80 }] },
        { from: [{ namespaceSelector: ns("z") }], ports: [{ protocol: "UDP", port: 81 }] },
      ],
    },
  ],
  [
    "from addresses",
    { ingress: [{ from: [{ ipBlock: { cidr: "192.0.2.0/24" } }, { ipBlock: { cidr: "fd00:99::/64" } }] }] },
  ],
  [
    "from addresses but some",
    {
      ingress: [
        {
          from: [
            { ipBlock: { cidr: "10.244.0.0/16", except: [`${yb4}/32`] } },
            { ipBlock: { cidr: "::/0", except: ["fd00:244:2::/64"] } },
          ],
        },
      ],
    },
  ],
  [
    "out to pods and to a namespace",
    { policyTypes: ["Egress"], egress: [{ to: [{ podSelector: pod("a") }, { namespaceSelector: ns("z") }] }] },
  ],
  ["out to a port by name", { policyTypes: ["Egress"], egress: [{ ports: [{ port: "serve" }] }] }],
  [
    "out to a port by name, of pods of another namespace",
    {
      policyTypes: ["Egress"],
      egress: [
        { to: [{ namespaceSelector: ns("y") }], ports: [{ port: "serve" }, { protocol: "UDP", port: "serve-udp" }] },
      ],
    },
  ],
  [
    "out to addresses but some",
    {
      policyTypes: ["Egress"],
      egress: [{ to: [{ ipBlock: { cidr: "0.0.0.0/0", except: ["10.244.2.0/24"] } }], ports: [{ port: 81 }] }],
    },
  ],
  [
    "policies add up",
    deny,
    { ingress: [{ from: [{ namespaceSelector: ns("y") }] }] },
    { ingress: [{ ports: [{ port: 81 }] }] },
  ],
  [
    "both directions without being told",
    {
      podSelector: pod("a"),
      egress: [{ to: [{ podSelector: pod("b") }] }],
      ingress: [{ from: [{ namespaceSelector: ns("z") }] }],
    },
  ],
  [
    "both ends have to agree",
    { policyTypes: ["Egress"], podSelector: pod("b"), egress: [{ to: [{ podSelector: pod("a") }] }] },
    {
      podSelector: pod("a"),
      ingress: [
        { from: [{ ipBlock: { cidr: `${xa4}/32` } }, { ipBlock: { cidr: `${xa6}/128` } }, { podSelector: pod("c") }] },
      ],
    },
  ],
];

export const worldsOfSituations: readonly { readonly name: string; readonly world: ModelWorld }[] = situations.map(
  ([name, ...specs]) => ({
    name,
    world: { pods: situationPods, namespaces, policies: specs.map((spec, i) => policyOf(`policy-${i}`, "x", spec)) },
  }),
);
