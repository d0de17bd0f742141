// The scheduler once more, slow and obvious: for each node and each rule it looks at everything again. It shares nothing with the
// plugins but what a pod and a node are, so that where the two agree both are probably right.
import type { NodeSelectorTerm, PodAffinityTerm, TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { LabelSelector } from "#api/meta/label-selector.ts";

export interface ReferenceCluster {
  readonly nodes: readonly Node[];
  /** With `spec.nodeName`. */
  readonly pods: readonly Pod[];
  /** Labels of namespaces, by name. */
  readonly namespaces: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

type Labels = Readonly<Record<string, string>>;

export const feasibleNodes = (pod: Pod, cluster: ReferenceCluster): readonly Node[] =>
  cluster.nodes.filter((node) => rules.every((rule) => rule(pod, node, cluster)));

/** The weighted sum of all scores, by name of the node. */
export function totalScores(
  pod: Pod,
  feasible: readonly Node[],
  cluster: ReferenceCluster,
): ReadonlyMap<string, number> {
  const totals = new Map(feasible.map(({ metadata }) => [metadata.name, 0]));
  for (const { weight, score } of preferences) {
    const scores = score(pod, feasible, cluster);
    for (const [i, { metadata }] of feasible.entries())
      totals.set(metadata.name, (totals.get(metadata.name) ?? 0) + weight * (scores[i] ?? 0));
  }
  return totals;
}

type Rule = (pod: Pod, node: Node, cluster: ReferenceCluster) => boolean;
type Preference = (pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster) => readonly number[];

const rules: readonly Rule[] = [isOpen, isNamed, isUntainted, isSelected, hasPorts, hasRoom, isEven, isAmongFriends];
const preferences: readonly { readonly weight: number; readonly score: Preference }[] = [
  { weight: 3, score: fewTaints },
  { weight: 2, score: likedNodes },
  { weight: 1, score: leastUsed },
  { weight: 2, score: evenness },
  { weight: 2, score: goodCompany },
  { weight: 1, score: balance },
  { weight: 1, score: imagesThere },
];

const labelsOf = (object: { metadata: { labels?: Labels | undefined } }): Labels => object.metadata.labels ?? {};
const podsOn = (node: Node, { pods }: ReferenceCluster) =>
  pods.filter(({ spec }) => spec.nodeName === node.metadata.name);

function tolerates(pod: Pod, taint: { key: string; value?: string | undefined; effect: string }): boolean {
  return (pod.spec.tolerations ?? []).some((one) => {
    const isEffect = !one.effect || one.effect === taint.effect;
    const isKey = !one.key || one.key === taint.key;
    const isValue = one.operator === "Exists" || (one.value ?? "") === (taint.value ?? "");
    return isEffect && isKey && isValue;
  });
}

function isOpen(pod: Pod, node: Node): boolean {
  return !node.spec.unschedulable || tolerates(pod, { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" });
}

function isNamed(pod: Pod, node: Node): boolean {
  return !pod.spec.nodeName || pod.spec.nodeName === node.metadata.name;
}

function isUntainted(pod: Pod, node: Node): boolean {
  return (node.spec.taints ?? []).every((taint) => taint.effect === "PreferNoSchedule" || tolerates(pod, taint));
}

function meets(labels: Labels, key: string, operator: string, values: readonly string[]): boolean {
  const has = key in labels;
  const value = labels[key] ?? "";
  if (operator === "In") return has && values.includes(value);
  if (operator === "NotIn") return !has || !values.includes(value);
  if (operator === "Exists") return has;
  if (operator === "DoesNotExist") return !has;
  if (operator === "Gt") return has && Number(value) > Number(values[0]);
  return has && Number(value) < Number(values[0]);
}

function termMatches({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Node): boolean {
  if (matchExpressions.length === 0 && matchFields.length === 0) return false;
  const fields = { "metadata.name": node.metadata.name };
  return (
    matchExpressions.every(({ key, operator, values = [] }) => meets(labelsOf(node), key, operator, values)) &&
    matchFields.every(({ key, operator, values = [] }) => meets(fields, key, operator, values))
  );
}

function isSelected(pod: Pod, node: Node): boolean {
  const { nodeSelector = {}, affinity } = pod.spec;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!Object.entries(nodeSelector).every(([key, value]) => labelsOf(node)[key] === value)) return false;
  return !required || required.nodeSelectorTerms.some((term) => termMatches(term, node));
}

function hasPorts(pod: Pod, node: Node, cluster: ReferenceCluster): boolean {
  const portsOf = ({ spec }: Pod) =>
    spec.containers.flatMap(({ ports = [] }) => ports.filter(({ hostPort }) => (hostPort ?? 0) > 0));
  const taken = podsOn(node, cluster).flatMap(portsOf);
  return portsOf(pod).every((wanted) =>
    taken.every((other) => {
      if (other.hostPort !== wanted.hostPort || other.protocol !== wanted.protocol) return true;
      const [a, b] = [other.hostIP || "0.0.0.0", wanted.hostIP || "0.0.0.0"];
      return a !== b && a !== "0.0.0.0" && b !== "0.0.0.0";
    }),
  );
}

const units: Readonly<Record<string, number>> = { m: 0.001, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };

function numberOf(text: string | undefined): number {
  const [, digits = "0", unit = ""] = /^(\d+)(\w*)$/.exec(text ?? "0") ?? [];
  return Number(digits) * (unit === "" ? 1 : (units[unit] ?? Number.NaN));
}

type Amounts = Readonly<Record<string, string>>;

/** Of one resource: all containers together, or what an init container needs beside the sidecars before it. */
function requestOf({ spec }: Pod, resource: string, missing = 0): number {
  const asked = ({ resources }: { resources: { requests?: Amounts | undefined } }) =>
    resources.requests?.[resource] === undefined ? missing : numberOf(resources.requests[resource]);
  let running = 0;
  for (const container of spec.containers) running += asked(container);
  let sidecars = 0;
  let peak = 0;
  for (const container of spec.initContainers ?? []) {
    peak = Math.max(peak, sidecars + asked(container));
    if (container.restartPolicy === "Always") sidecars += asked(container);
  }
  return Math.max(running + sidecars, peak) + numberOf(spec.overhead?.[resource]);
}

function used(node: Node, cluster: ReferenceCluster, resource: string, missing = 0): number {
  return podsOn(node, cluster).reduce((sum, pod) => sum + requestOf(pod, resource, missing), 0);
}

function hasRoom(pod: Pod, node: Node, cluster: ReferenceCluster): boolean {
  const { allocatable = {} } = node.status;
  if (podsOn(node, cluster).length + 1 > numberOf(allocatable.pods)) return false;
  return ["cpu", "memory", "ephemeral-storage", "example.com/gpu"].every((resource) => {
    const wanted = requestOf(pod, resource);
    return (
      wanted === 0 || milli(wanted) <= milli(numberOf(allocatable[resource])) - milli(used(node, cluster, resource))
    );
  });
}

/** Sums of thousandths are not exact; of whole numbers they are. */
const milli = (value: number): number => Math.round(value * 1000);

function selects(selector: LabelSelector | undefined, labels: Labels): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => meets(labels, key, operator, values))
  );
}

const isEmpty = ({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;

function spreadSelector({ labelSelector, matchLabelKeys = [] }: TopologySpreadConstraint, pod: Pod) {
  if (!labelSelector) return undefined;
  const own = labelsOf(pod);
  const more = Object.fromEntries(matchLabelKeys.filter((key) => key in own).map((key) => [key, own[key] ?? ""]));
  return { ...labelSelector, matchLabels: { ...labelSelector.matchLabels, ...more } };
}

/** Whether a constraint counts the pods of a node. */
function isCounted(constraint: TopologySpreadConstraint, pod: Pod, node: Node): boolean {
  if (constraint.nodeAffinityPolicy !== "Ignore" && !isSelected(pod, node)) return false;
  return constraint.nodeTaintsPolicy !== "Honor" || isUntainted(pod, node);
}

function countOn(constraint: TopologySpreadConstraint, pod: Pod, node: Node, cluster: ReferenceCluster): number {
  const selector = spreadSelector(constraint, pod);
  if (!selector || isEmpty(selector)) return 0;
  return podsOn(node, cluster).filter(
    (other) =>
      other.metadata.namespace === pod.metadata.namespace &&
      other.metadata.deletionTimestamp === undefined &&
      selects(selector, labelsOf(other)),
  ).length;
}

const constraintsOf = ({ spec }: Pod, when: string) =>
  (spec.topologySpreadConstraints ?? []).filter(({ whenUnsatisfiable }) => whenUnsatisfiable === when);

function isEven(pod: Pod, node: Node, cluster: ReferenceCluster): boolean {
  const constraints = constraintsOf(pod, "DoNotSchedule");
  const hasAll = (one: Node) => constraints.every(({ topologyKey }) => topologyKey in labelsOf(one));
  return constraints.every((constraint) => {
    const { topologyKey, maxSkew, minDomains = 1 } = constraint;
    const value = labelsOf(node)[topologyKey];
    if (value === undefined) return false;
    const counts = new Map<string, number>();
    for (const one of cluster.nodes.filter((other) => hasAll(other) && isCounted(constraint, pod, other))) {
      const place = labelsOf(one)[topologyKey] ?? "";
      counts.set(place, (counts.get(place) ?? 0) + countOn(constraint, pod, one, cluster));
    }
    const least = counts.size < minDomains ? 0 : Math.min(...counts.values());
    const self = selects(spreadSelector(constraint, pod), labelsOf(pod)) ? 1 : 0;
    return (counts.get(value) ?? 0) + self - least <= maxSkew;
  });
}

/** Whether a term of `owner` means `other`. */
function means(term: PodAffinityTerm, owner: Pod, other: Pod, { namespaces }: ReferenceCluster): boolean {
  const { namespaces: names = [], namespaceSelector, labelSelector } = term;
  const place = other.metadata.namespace ?? "";
  const isOwn = names.length === 0 && !namespaceSelector && place === owner.metadata.namespace;
  const isSelectedPlace = namespaceSelector !== undefined && selects(namespaceSelector, namespaces[place] ?? {});
  return (isOwn || names.includes(place) || isSelectedPlace) && selects(labelSelector, labelsOf(other));
}

const isSamePlace = (key: string, a: Node, b: Node): boolean =>
  key in labelsOf(a) && labelsOf(a)[key] === labelsOf(b)[key];

function isAmongFriends(pod: Pod, node: Node, cluster: ReferenceCluster): boolean {
  const near = pod.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const apart = pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const all = cluster.nodes.flatMap((where) => podsOn(where, cluster).map((other) => ({ other, where })));

  if (near.length > 0) {
    if (!near.every(({ topologyKey }) => topologyKey in labelsOf(node))) return false;
    const friends = all.filter(({ other }) => near.every((term) => means(term, pod, other, cluster)));
    const seen = friends.filter(({ where }) => near.some(({ topologyKey }) => topologyKey in labelsOf(where)));
    const isNear = near.every((term) => friends.some(({ where }) => isSamePlace(term.topologyKey, node, where)));
    const isFirst = seen.length === 0 && near.every((term) => means(term, pod, pod, cluster));
    if (!isNear && !isFirst) return false;
  }
  const isAvoided = apart.some((term) =>
    all.some(({ other, where }) => means(term, pod, other, cluster) && isSamePlace(term.topologyKey, node, where)),
  );
  const isUnwelcome = all.some(({ other, where }) =>
    (other.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
      (term) => means(term, other, pod, cluster) && isSamePlace(term.topologyKey, node, where),
    ),
  );
  return !isAvoided && !isUnwelcome;
}

function fewTaints(pod: Pod, nodes: readonly Node[]): readonly number[] {
  const counts = nodes.map(
    ({ spec }) =>
      (spec.taints ?? []).filter((taint) => taint.effect === "PreferNoSchedule" && !tolerates(pod, taint)).length,
  );
  const most = Math.max(...counts);
  return counts.map((count) => (most === 0 ? 100 : 100 - Math.floor((100 * count) / most)));
}

function likedNodes(pod: Pod, nodes: readonly Node[]): readonly number[] {
  const wishes = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const sums = nodes.map((node) =>
    wishes.filter(({ preference }) => termMatches(preference, node)).reduce((sum, { weight }) => sum + weight, 0),
  );
  const most = Math.max(...sums);
  return sums.map((sum) => (most === 0 ? 0 : Math.floor((100 * sum) / most)));
}

const likely: Readonly<Record<string, number>> = { cpu: 0.1, memory: 200 * 1024 ** 2 };

function leastUsed(pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster): readonly number[] {
  return nodes.map((node) => {
    const free = ["cpu", "memory"].flatMap((resource) => {
      const capacity = milli(numberOf(node.status.allocatable?.[resource]));
      const missing = likely[resource];
      const wanted = milli(used(node, cluster, resource, missing)) + milli(requestOf(pod, resource, missing));
      if (capacity === 0) return [];
      return [wanted > capacity ? 0 : Math.floor(((capacity - wanted) * 100) / capacity)];
    });
    return free.length === 0 ? 0 : Math.floor(free.reduce((a, b) => a + b, 0) / free.length);
  });
}

function balance(pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster): readonly number[] {
  if (requestOf(pod, "cpu") === 0 && requestOf(pod, "memory") === 0) return nodes.map(() => 0);
  return nodes.map((node) => {
    const evenWith = (more: boolean) => {
      const fractions = ["cpu", "memory"].flatMap((resource) => {
        const capacity = milli(numberOf(node.status.allocatable?.[resource]));
        const taken = milli(used(node, cluster, resource)) + (more ? milli(requestOf(pod, resource)) : 0);
        return capacity === 0 ? [] : [Math.min(1, taken / capacity)];
      });
      const deviation = fractions.length === 2 ? Math.abs(((fractions[0] ?? 0) - (fractions[1] ?? 0)) / 2) : 0;
      return Math.floor((1 - deviation) * 100);
    };
    return 50 + Math.floor((50 + evenWith(true) - evenWith(false)) / 2);
  });
}

function imagesThere(pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster): readonly number[] {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const [least, most] = [23 * 1024 ** 2, 1000 * 1024 ** 2 * containers.length];
  return nodes.map((node) => {
    let sum = 0;
    for (const { image = "" } of containers) {
      const name = image.includes(":") ? image : `${image}:latest`;
      const sizeOn = ({ status }: Node) => status.images?.find(({ names }) => names?.includes(name))?.sizeBytes;
      const size = sizeOn(node);
      const spread = cluster.nodes.filter((one) => sizeOn(one) !== undefined).length / cluster.nodes.length;
      if (size !== undefined) sum += Math.floor(size * spread);
    }
    return Math.floor((100 * (Math.min(Math.max(sum, least), most) - least)) / (most - least));
  });
}

function evenness(pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster): readonly number[] {
  const constraints = constraintsOf(pod, "ScheduleAnyway");
  if (constraints.length === 0) return nodes.map(() => 0);
  const hasAll = (node: Node) => constraints.every(({ topologyKey }) => topologyKey in labelsOf(node));
  const scored = nodes.filter(hasAll);
  const raw = new Map(
    scored.map((node) => {
      let score = 0;
      for (const constraint of constraints) {
        const { topologyKey: key, maxSkew } = constraint;
        const isHost = key === "kubernetes.io/hostname";
        const places = isHost ? scored.length : new Set(scored.map((one) => labelsOf(one)[key])).size;
        const counted = isHost
          ? [node]
          : cluster.nodes.filter(
              (one) => hasAll(one) && isSamePlace(key, one, node) && isCounted(constraint, pod, one),
            );
        const count = counted.reduce((sum, one) => sum + countOn(constraint, pod, one, cluster), 0);
        score += count * Math.log(places + 2) + (maxSkew - 1);
      }
      return [node, Math.round(score)];
    }),
  );
  const most = Math.max(0, ...raw.values());
  const least = Math.min(...raw.values());
  return nodes.map((node) => {
    const score = raw.get(node);
    if (score === undefined) return 0;
    return most === 0 ? 100 : Math.floor((100 * (most + least - score)) / most);
  });
}

function goodCompany(pod: Pod, nodes: readonly Node[], cluster: ReferenceCluster): readonly number[] {
  const soft = (one: Pod) => [
    ...(one.spec.affinity?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((wish) => ({
      weight: wish.weight,
      term: wish.podAffinityTerm,
    })),
    ...(one.spec.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((wish) => ({
      weight: -wish.weight,
      term: wish.podAffinityTerm,
    })),
  ];
  const hard = (one: Pod) =>
    (one.spec.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => ({
      weight: 1,
      term,
    }));
  const raw = nodes.map((node) => {
    let sum = 0;
    for (const where of cluster.nodes)
      for (const other of podsOn(where, cluster)) {
        for (const { term, weight } of soft(pod))
          if (means(term, pod, other, cluster) && isSamePlace(term.topologyKey, node, where)) sum += weight;
        for (const { term, weight } of [...soft(other), ...hard(other)])
          if (means(term, other, pod, cluster) && isSamePlace(term.topologyKey, node, where)) sum += weight;
      }
    return sum;
  });
  const [most, least] = [Math.max(...raw), Math.min(...raw)];
  return raw.map((sum) => (most === least ? 0 : Math.floor(100 * ((sum - least) / (most - least)))));
}
