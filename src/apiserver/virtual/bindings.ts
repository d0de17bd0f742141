// Upstream: pkg/registry/core/pod/storage/storage.go.
import { Binding } from "#api/core/v1/binding.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { requestWith } from "#wire/api-request.ts";
import type { VirtualHandler } from "../served-resource.ts";
import { binding } from "../subresources/binding.ts";
import type { VirtualParts } from "./list.ts";
import { decodeReview } from "./review.ts";

/** The old way to bind a pod, which is named in the body only. */
export const bindings =
  ({ find }: Pick<VirtualParts, "find">): VirtualHandler =>
  async (request) => {
    const { object } = await decodeReview(request, Binding);
    const { name = "" } = object.metadata;
    return binding(requestWith(request, { resource: "pods", name, subresource: "binding" }), find(Pod));
  };
