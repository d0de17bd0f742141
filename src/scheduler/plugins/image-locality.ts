// Upstream: pkg/scheduler/framework/plugins/imagelocality/image_locality.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { schedulerPlugin } from "../framework.ts";

const mebibyte = 1024 * 1024;
const leastBytes = 23 * mebibyte;
const mostBytesPerContainer = 1000 * mebibyte;

interface Images {
  /** An image counts by the part of the nodes that have it, so that not all pods run to the one node that does. */
  readonly spreads: readonly { readonly name: string; readonly spread: number }[];
  readonly mostBytes: number;
}

/** Prefers nodes that need not pull the images. */
export const imageLocality = schedulerPlugin({
  name: "ImageLocality",

  preScore({ pod }, _nodes, snapshot) {
    const total = snapshot.nodes.length;
    const spreads = imagesOf(pod).flatMap((name) => {
      const nodes = snapshot.nodesWithImage(name);
      return nodes > 0 ? [{ name, spread: nodes / total }] : [];
    });
    if (spreads.length === 0) return undefined;
    const containers = pod.spec.containers.length + (pod.spec.initContainers ?? []).length;
    return { state: { spreads, mostBytes: mostBytesPerContainer * containers } };
  },
  score(_pod, { images }, { spreads, mostBytes }: Images) {
    let sum = 0;
    for (const { name, spread } of spreads) {
      const bytes = images.get(name);
      if (bytes !== undefined) sum += Math.trunc(bytes * spread);
    }
    const bytes = Math.min(Math.max(sum, leastBytes), mostBytes);
    return Math.trunc((100 * (bytes - leastBytes)) / (mostBytes - leastBytes));
  },
});

function imagesOf({ spec }: Pod): readonly string[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers].map(({ image = "" }) => image);
  const volumes = (spec.volumes ?? []).flatMap(({ image }) => (image ? [image.reference ?? ""] : []));
  return [...containers, ...volumes].map(withTag);
}

const withTag = (name: string): string => (name.lastIndexOf(":") <= name.lastIndexOf("/") ? `${name}:latest` : name);
