// The size of anything that has one, in the same form for all kinds.
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { ScalePaths } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { formatRequirements, requirementsOf, requirementsOfLabels, type SelectorStruct } from "#schema/selector.ts";
import { validateObject, valueAt } from "#schema/validate.ts";
import type { ApiResponse } from "#wire/api-request.ts";
import { badRequest, invalidObject, methodNotAllowed } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { patched } from "../registry/patching.ts";
import { getObject } from "../registry/reader.ts";
import type { AdmissionView } from "../registry/registry.ts";
import type { SubresourceHandler } from "../served-resource.ts";

export const scale =
  (paths: ScalePaths): SubresourceHandler =>
  async (request, { registry }) => {
    if (request.verb === "get") return plain(scaleOf((await getObject(registry, request)).object, paths));
    if (request.verb !== "update" && request.verb !== "patch") throw methodNotAllowed();
    const { body } = request;
    if (!body) throw badRequest("the body of the request is missing");
    const options = parseWriteOptions(request, request.verb === "update" ? "UpdateOptions" : "PatchOptions");
    const key = registry.keyOf(request.namespace, request.name ?? "");
    const shownAs: AdmissionView = {
      of: (object) => scaleOf(object, paths),
      apply(shown, object) {
        const problems = validateObject(Scale, shown);
        if (problems.length > 0) throw invalidObject(Scale, object.metadata.name ?? "", problems);
        setAt(object, paths.replicas, shown.spec.replicas ?? 0);
      },
    };
    const stored = await registry.update(
      request,
      key,
      (current) => {
        const before = scaleOf(current, paths);
        const type = body.patchType;
        const sent =
          type && type !== "apply"
            ? patched(Scale, type, before, body.value()).object
            : (body.decode(Scale).object as DraftObject);
        const wanted: ApiObject = applyDefaults(Scale, { ...sent, metadata: { ...before.metadata, ...sent.metadata } });
        const next = structuredClone(current) as DraftObject;
        setAt(next, paths.replicas, wanted.spec.replicas ?? 0);
        const { resourceVersion } = sent.metadata ?? {};
        if (resourceVersion && !type) next.metadata.resourceVersion = resourceVersion;
        return next;
      },
      { ...options, shownAs },
    );
    return plain(scaleOf(stored.object, paths));
  };

const plain = (object: object): ApiResponse => ({ type: "plain", code: 200, object, kind: Scale });

function scaleOf(object: ApiObject, { replicas, current, selector }: ScalePaths): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selected = selector === undefined ? undefined : valueAt(object, selector);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { ...(valueAt(object, replicas) ? { replicas: valueAt(object, replicas) } : {}) },
    status: { replicas: valueAt(object, current) ?? 0, ...(selected ? { selector: selectorText(selected) } : {}) },
  };
}

/** Most kinds have a selector with expressions, replication controllers plain labels. */
function selectorText(selector: object): string {
  const isStruct = "matchLabels" in selector || "matchExpressions" in selector;
  return formatRequirements(
    isStruct ? requirementsOf(selector as SelectorStruct) : requirementsOfLabels(selector as Record<string, string>),
  );
}

function setAt(object: DraftObject, path: string, value: unknown): void {
  const names = path.split(".");
  const last = names.pop() as string;
  const holder = names.reduce<Record<string, unknown>>((inner, name) => {
    inner[name] ??= {};
    return inner[name] as Record<string, unknown>;
  }, object);
  holder[last] = value;
}
