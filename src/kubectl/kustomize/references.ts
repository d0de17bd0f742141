// Names that objects call others by follow when those get other names (upstream: kustomize/api/filters/nameref).
import { isObject } from "#base/is-object.ts";
import { stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import { nameReferences } from "./field-specs.ts";
import { changeAt, type KustomizeResource, pathOf } from "./kustomize-resource.ts";
import { nameHash } from "./name-hash.ts";

/** Adds hashes to the names of what was generated. */
export function addHashes(resources: readonly KustomizeResource[]): void {
  for (const resource of resources.filter(({ needsHash }) => needsHash)) {
    const { kind, data, binaryData, stringData, type } = resource.object;
    const more =
      kind === "Secret"
        ? { type: type ?? "", ...(isObject(stringData) && { stringData }) }
        : { ...(isObject(binaryData) && { binaryData }) };
    resource.rename({ name: `${resource.name}-${nameHash({ kind, name: "", data: data ?? "", ...more })}` });
  }
}

export function fixReferences(resources: readonly KustomizeResource[]): void {
  for (const { kind, fields } of nameReferences) {
    const targets = resources.filter((one) => one.kind === kind && one.previous.length > 0);
    if (targets.length === 0) continue;
    for (const referrer of resources)
      for (const spec of fields.filter((one) => referrer.isMeantBy(one)))
        referrer.object = changeAt(referrer.object, pathOf(spec.path), false, (value, parent) =>
          newName(value, parent, referrer, kind, targets),
        ) as KubeObject;
  }
  for (const one of resources) if (/RoleBinding$/.test(one.kind)) fixSubjects(one, resources);
}

function newName(
  value: unknown,
  parent: Readonly<Record<string, unknown>>,
  referrer: KustomizeResource,
  kind: string,
  targets: readonly KustomizeResource[],
): unknown {
  if (typeof value !== "string") return undefined;
  // What says which kind it means, means no other.
  const isSubject = kind === "ServiceAccount"; // but upstream takes users of that name for accounts
  if (typeof parent.kind === "string" && parent !== referrer.object && parent.kind !== kind && !isSubject)
    return undefined;
  const named = targets.filter(({ ids }) => ids.some((id) => id.name === value));
  const near = named.filter(
    (one) => one.isClusterScoped || referrer.isClusterScoped || isSameNamespace(one, referrer, parent),
  );
  const beside = near.filter((one) => one.affixes.join() === referrer.affixes.join());
  return (beside.length > 0 ? beside : near)[0]?.name;
}

function isSameNamespace(
  target: KustomizeResource,
  referrer: KustomizeResource,
  parent: Readonly<Record<string, unknown>>,
): boolean {
  const wanted = typeof parent.namespace === "string" ? parent.namespace : undefined;
  if (wanted !== undefined) return target.ids.some(({ namespace }) => namespace === wanted);
  return target.namespace === referrer.namespace || target.origin.namespace === referrer.origin.namespace;
}

/** Subjects name the namespaces of accounts, too. */
function fixSubjects(binding: KustomizeResource, resources: readonly KustomizeResource[]): void {
  const { subjects } = binding.object;
  if (!Array.isArray(subjects)) return;
  binding.object = {
    ...binding.object,
    subjects: subjects.map((subject: unknown) => {
      if (!isObject(subject)) return subject;
      const account = resources.find(
        (one) =>
          one.kind === "ServiceAccount" &&
          one.name === subject.name &&
          one.ids.some(({ namespace }) => namespace === stringIn(subject.namespace)),
      );
      return account && account.namespace !== "" ? { ...subject, namespace: account.namespace } : subject;
    }),
  };
}
