// Upstream: plugin/pkg/admission/alwayspullimages/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { notSupported, problemText } from "#schema/problem.ts";
import { admissionPlugin, joined, refused } from "./plugin.ts";
import { containersOf, draftContainersOf } from "./pod-containers.ts";

/** On a shared node a cached private image must not be usable without its pull secret, so every start pulls. */
export const alwaysPullImages = admissionPlugin({
  name: "AlwaysPullImages",
  on: { kind: Pod, verbs: ["create", "update"] },

  mutate({ object: { spec }, old }) {
    if (old && !bringsImages(spec, old.spec)) return;
    for (const container of draftContainersOf(spec)) container.imagePullPolicy = "Always";
    for (const { image } of spec.volumes ?? []) if (image) image.pullPolicy = "Always";
  },
  validate(asked) {
    const { spec } = asked.object;
    if (asked.old && !bringsImages(spec, asked.old.spec)) return undefined;
    const problems = [
      ...[...containersOf(spec)].map(({ container, path }) => ({
        field: `${path}.imagePullPolicy`,
        policy: container.imagePullPolicy,
      })),
      ...(spec.volumes ?? []).flatMap(({ image }, i) =>
        image ? [{ field: `spec.volumes[${i}].image.pullPolicy`, policy: image.pullPolicy }] : [],
      ),
    ].filter(({ policy }) => policy !== "Always");
    const texts = problems.map(({ field, policy }) => problemText(notSupported(field, ["Always"], policy ?? "")));
    // Upstream joins whole refusals, each with the pod's name in it.
    const [first, ...others] = texts;
    return first === undefined
      ? undefined
      : others.length === 0
        ? first
        : joined(texts.map((text) => refused(asked, text).message));
  },
});

const bringsImages = (spec: PodSpec, old: PodSpec): boolean => {
  const known = new Set([...containersOf(old)].map(({ container }) => container.image));
  return [...containersOf(spec)].some(({ container }) => !known.has(container.image));
};
