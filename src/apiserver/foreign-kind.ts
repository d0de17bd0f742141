// Bodies of another kind than the path is about, in upstream's words.
import { catalog } from "#api/catalog.ts";
import type { ApiError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import { invalid, type Problem } from "#schema/problem.ts";
import { invalidObject } from "#wire/status.ts";

interface Names {
  readonly kind?: string | undefined;
  readonly apiVersion?: string | undefined;
}

/** Whether it is the kind in another of its versions. */
export const isOtherVersion = (expected: AnyKind, { kind = expected.kind, apiVersion }: Names): boolean =>
  kind === expected.kind &&
  apiVersion !== expected.apiVersion &&
  catalog.some((one) => one.apiVersion === apiVersion && one.kind === kind && one.group === expected.group);

/** Why an object cannot be handled as one of the kind, if it says that it is of another. */
export function foreignKind(expected: AnyKind, sent: Names): string | undefined {
  const { kind = expected.kind, apiVersion = expected.apiVersion } = sent;
  if (kind === expected.kind && apiVersion === expected.apiVersion) return undefined;
  const known = catalog.some(
    (one) => one.apiVersion === apiVersion && (one.kind === kind || `${one.kind}List` === kind),
  );
  if (!known)
    return `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(scheme)}`;
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return `converting (${version}.${kind}) to (${internalType(expected)}): unknown conversion`;
}

/** Where upstream keeps its kinds; clients see it in messages. */
const scheme = "pkg/api/legacyscheme/scheme.go:30";

/** The refusal of a body for a custom resource with another apiVersion or kind. */
export function wrongNames(
  expected: AnyKind,
  { kind = "", apiVersion = "" }: Names,
  name: string | undefined,
): ApiError | undefined {
  const problems: Problem[] = [];
  if (kind !== expected.kind) problems.push(invalid("kind", `must be ${expected.kind}`, kind));
  if (apiVersion !== expected.apiVersion)
    problems.push(invalid("apiVersion", `must be ${expected.apiVersion}`, apiVersion));
  if (problems.length === 0) return undefined;
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return invalidObject({ group, kind }, name ?? "", problems);
}

export const internalListType = (kind: AnyKind): string =>
  kind.model.publication.isUnstructured ? "unstructured.UnstructuredList" : `${internalType(kind)}List`;

/** The internal type of a kind, with its package. Events of both groups share one. */
export function internalType({ group, kind }: AnyKind): string {
  const [name = ""] = group.split(".");
  return `${name === "" || name === "events" ? "core" : name}.${kind}`;
}
