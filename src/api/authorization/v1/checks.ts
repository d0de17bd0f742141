// Upstream: pkg/apis/authorization/validation/validation.go.
import { invalid, type ObjectMeta, type Problem } from "#schema/index.ts";

interface Access {
  readonly resourceAttributes?: object | undefined;
  readonly nonResourceAttributes?: object | undefined;
}

/** A question is about a resource or about a path. */
export function* checkAccess({ resourceAttributes, nonResourceAttributes }: Access): Iterable<Problem> {
  if (resourceAttributes && nonResourceAttributes)
    yield invalid("nonResourceAttributes", "cannot be specified in combination with resourceAttributes");
  if (!resourceAttributes && !nonResourceAttributes)
    yield invalid(
      "resourceAttributes",
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
      null,
    );
}

/** Questions are not stored, so they have no name. */
export function* checkNoMetadata(metadata: ObjectMeta, except?: "namespace"): Iterable<Problem> {
  const set = Object.entries(metadata).filter(([key, value]) => key !== except && key !== "managedFields" && value);
  if (set.length > 0) yield invalid("metadata", except ? `must be empty except for ${except}` : "must be empty");
}
