// Holds single pods, containers and claims to the limits of their namespace, and gives containers that say nothing its defaults.
// Upstream: plugin/pkg/admission/limitranger/admission.go.
import { type Amounts, amountOf, compareAmounts, containerAmounts } from "#api/core/v1/amounts.ts";
import type { Container } from "#api/core/v1/container.ts";
import { LimitRange, type LimitRangeItem } from "#api/core/v1/limit-range.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Mutable } from "#schema/infer.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { type AdmissionRefusal, type AdmissionRequest, admissionPlugin, joined, pluginOf } from "./plugin.ts";

const annotation = "kubernetes.io/limit-ranger";

/** Of a pod only the size matters later on: it may change through `resize`, and nowhere else. */
const createdPods = admissionPlugin({
  name: "LimitRanger",
  on: { kind: Pod, verbs: ["create"] },
  mutate({ object, namespace, server }) {
    giveDefaults(object, server.list(LimitRange, namespace));
  },
  validate: ({ object, namespace, server }) =>
    firstRefusal(server.list(LimitRange, namespace), podProblems(object.spec)),
});

const resizedPods = admissionPlugin({
  name: "LimitRanger",
  on: { kind: Pod, verbs: ["update"], through: ["resize"] },
  mutate({ object, old, namespace, server }) {
    if (old.metadata.deletionTimestamp === undefined) giveDefaults(object, server.list(LimitRange, namespace));
  },
  validate: (asked) => ofLiving(asked, podProblems(asked.object.spec)),
});

const claims = admissionPlugin({
  name: "LimitRanger",
  on: { kind: PersistentVolumeClaim, verbs: ["create", "update"] },
  validate: (asked) => ofLiving(asked, claimProblems(asked.object)),
});

export const limitRanger = pluginOf("LimitRanger", createdPods, resizedPods, claims);

type Judge = (limit: LimitRangeItem) => Iterable<string | undefined>;

/** What is on its way out is not held back. */
function ofLiving(
  {
    old,
    namespace,
    server,
  }: Pick<AdmissionRequest<unknown, Pod | PersistentVolumeClaim | undefined>, "old" | "namespace" | "server">,
  judge: Judge,
): AdmissionRefusal {
  if (old?.metadata.deletionTimestamp !== undefined) return undefined;
  return firstRefusal(server.list(LimitRange, namespace), judge);
}

/** All problems with the first range that has any. */
function firstRefusal(ranges: readonly LimitRange[], judge: Judge): AdmissionRefusal {
  for (const { spec } of ranges) {
    const why = joined(spec.limits.flatMap((limit) => [...judge(limit)].filter((text) => text !== undefined)));
    if (why !== undefined) return why;
  }
  return undefined;
}

function giveDefaults(pod: Mutable<Pod>, ranges: readonly LimitRange[]): void {
  for (const { spec } of ranges) {
    const limits = spec.limits.filter(({ type }) => type === "Container");
    const requirements = {
      requests: Object.assign({}, ...limits.map(({ defaultRequest }) => defaultRequest)),
      limits: Object.assign({}, ...limits.map((limit) => limit.default)),
    };
    const notes = [
      ...pod.spec.containers.flatMap((container) => fill(container, requirements, "container")),
      ...(pod.spec.initContainers ?? []).flatMap((container) => fill(container, requirements, "init container")),
    ];
    if (notes.length === 0) continue;
    pod.metadata.annotations = {
      ...pod.metadata.annotations,
      [annotation]: `LimitRanger plugin set: ${notes.join("; ")}`,
    };
  }
}

/** Answers what was filled in, in upstream's words. */
function fill(
  container: Mutable<Container>,
  defaults: { readonly requests: Amounts; readonly limits: Amounts },
  what: string,
): readonly string[] {
  const notes: string[] = [];
  for (const [list, word] of [
    ["requests", "request"],
    ["limits", "limit"],
  ] as const) {
    const given = container.resources[list] ?? {};
    const missing = Object.keys(defaults[list])
      .filter((name) => !Object.hasOwn(given, name))
      .sort();
    if (missing.length === 0) continue;
    container.resources[list] = {
      ...given,
      ...Object.fromEntries(missing.map((name) => [name, defaults[list][name] as string])),
    };
    notes.push(`${missing.join(", ")} ${word} for ${what} ${container.name}`);
  }
  return notes;
}

interface Consumer {
  readonly requests?: Amounts | undefined;
  readonly limits?: Amounts | undefined;
}

const podProblems = (spec: PodSpec): Judge =>
  function* (limit) {
    if (limit.type === "Container")
      for (const { resources } of [...spec.containers, ...(spec.initContainers ?? [])])
        yield* consumerProblems(limit, resources);
    if (limit.type === "Pod")
      yield* consumerProblems(limit, { requests: podAmounts(spec, "requests"), limits: podAmounts(spec, "limits") });
  };

/** What the containers need together, unless the pod as a whole says. */
function podAmounts(spec: PodSpec, which: "requests" | "limits"): Amounts {
  const own = Object.entries(spec.resources?.[which] ?? {}).filter(([name]) => name === "cpu" || name === "memory");
  return { ...Object.fromEntries(containerAmounts(spec, which)), ...Object.fromEntries(own) };
}

const claimProblems = ({ spec }: PersistentVolumeClaim): Judge =>
  function* (limit) {
    if (limit.type !== "PersistentVolumeClaim") return;
    const { requests } = spec.resources;
    for (const [name, least] of sorted(limit.min)) yield tooLittle(limit.type, name, least, { requests });
    for (const [name, most] of sorted(limit.max)) {
      const request = amountOf(requests, name);
      const rule = `maximum ${name} usage per ${limit.type} is ${most}`;
      if (request === undefined) yield `${rule}.  No request is specified`;
      else if (compareAmounts(request, most) > 0) yield `${rule}, but request is ${request}`;
    }
  };

function* consumerProblems({ type, min, max, maxLimitRequestRatio }: LimitRangeItem, consumer: Consumer) {
  for (const [name, least] of sorted(min)) yield tooLittle(type, name, least, consumer);
  for (const [name, most] of sorted(max)) yield tooMuch(type, name, most, consumer);
  for (const [name, ratio] of sorted(maxLimitRequestRatio)) yield tooUneven(type, name, ratio, consumer);
}

const sorted = (amounts: Amounts | undefined): readonly [string, string][] =>
  Object.entries(amounts ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));

function tooLittle(type: string, name: string, least: string, { requests, limits }: Consumer): AdmissionRefusal {
  const rule = `minimum ${name} usage per ${type} is ${least}`;
  const request = amountOf(requests, name);
  const limit = amountOf(limits, name);
  if (request === undefined) return `${rule}.  No request is specified`;
  if (compareAmounts(request, least) < 0) return `${rule}, but request is ${request}`;
  if (limit !== undefined && compareAmounts(limit, least) < 0) return `${rule}, but limit is ${limit}`;
  return undefined;
}

function tooMuch(type: string, name: string, most: string, { requests, limits }: Consumer): AdmissionRefusal {
  const rule = `maximum ${name} usage per ${type} is ${most}`;
  const request = amountOf(requests, name);
  const limit = amountOf(limits, name);
  if (limit === undefined) return `${rule}.  No limit is specified`;
  if (compareAmounts(limit, most) > 0) return `${rule}, but limit is ${limit}`;
  if (request !== undefined && compareAmounts(request, most) > 0) return `${rule}, but request is ${request}`;
  return undefined;
}

function tooUneven(type: string, name: string, ratio: string, { requests, limits }: Consumer): AdmissionRefusal {
  const rule = `${name} max limit to request ratio per ${type} is ${ratio}`;
  const request = numberOf(amountOf(requests, name));
  const limit = numberOf(amountOf(limits, name));
  if (request === 0) return `${rule}, but no request is specified or request is 0`;
  if (limit === 0) return `${rule}, but no limit is specified or limit is 0`;
  const found = limit / request;
  return found > numberOf(ratio) ? `${rule}, but provided ratio is ${found.toFixed(6)}` : undefined;
}

const numberOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : quantityToNumber(parseQuantity(amount));
