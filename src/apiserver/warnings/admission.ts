// Warnings about names of webhook configurations and admission policies that are reserved for those in files.
// Upstream: pkg/apis/admissionregistration/validation/static_suffix.go.
import type { ObjectMeta } from "#schema/index.ts";

const suffix = ".static.k8s.io";

export function* staticNameWarnings({ metadata }: { readonly metadata: ObjectMeta }): Iterable<string> {
  if (metadata.name?.endsWith(suffix))
    yield `metadata.name: names ending with ${JSON.stringify(suffix)} are reserved for static manifest-based configurations and cannot be managed via the API`;
}
