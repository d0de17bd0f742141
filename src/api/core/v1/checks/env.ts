// The environment of a container, and the fields that volumes and variables may show.
// Upstream: pkg/apis/core/validation/validation.go.
import { configMapKey, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type {
  ConfigMapEnvSource,
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from "../env.ts";
import { noBacksteps } from "./paths.ts";
import { malformed, none, under } from "./problems.ts";

export function* checkEnvSource({ configMapRef, secretRef }: EnvFromSource): Iterable<Problem> {
  if (!configMapRef && !secretRef) yield invalid("", "must specify one of: `configMapRef` or `secretRef`", "");
  if (configMapRef && secretRef) yield invalid("", "may not have more than one field specified at a time", "");
}

export function* checkNamedSource({ name = "" }: Pick<ConfigMapEnvSource, "name">): Iterable<Problem> {
  if (name === "") yield required("name");
  else yield* malformed("name", name, dns1123Subdomain);
}

export function* checkKeySelector({ name = "", key }: ConfigMapKeySelector): Iterable<Problem> {
  yield* malformed("name", name, dns1123Subdomain);
  if (key === "") yield required("key");
  else yield* malformed("key", key, configMapKey);
}

export function* checkFileKey({ path }: FileKeySelector): Iterable<Problem> {
  yield* noBacksteps("path", path);
}

export function checkEnvVarSource({ value = "", valueFrom }: EnvVar): readonly Problem[] {
  if (!valueFrom) return none;
  const problems: Problem[] = [];
  if (valueFrom.fieldRef) problems.push(...under("valueFrom.fieldRef", checkFieldRef(valueFrom.fieldRef, fieldsOfEnv)));
  if (valueFrom.resourceFieldRef)
    problems.push(...under("valueFrom.resourceFieldRef", checkResourceField(valueFrom.resourceFieldRef, false)));
  const sources = Object.values(valueFrom).filter((source) => source !== undefined).length;
  if (sources === 0)
    problems.push(
      invalid(
        "valueFrom",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        "",
      ),
    );
  else if (value !== "") problems.push(invalid("valueFrom", "may not be specified when `value` is not empty", ""));
  else if (sources > 1) problems.push(invalid("valueFrom", "may not have more than one field specified at a time", ""));
  return problems;
}

const fieldsOfEnv = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
export const fieldsOfVolumes = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
];
const knownFields = new Set([
  ...fieldsOfEnv,
  ...fieldsOfVolumes,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);

/** A field of the pod, or one label or annotation: `metadata.labels['app']`. */
export function checkFieldRef(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  allowed: readonly string[],
): readonly Problem[] {
  if (fieldPath === "") return [required("fieldPath")];
  if (apiVersion !== "v1") return [unconvertible(fieldPath, `unsupported pod version: ${apiVersion}`)];
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  if (subscript) {
    const [, path, key = ""] = subscript;
    if (path === "metadata.annotations") return malformed("", key.toLowerCase(), qualifiedName);
    if (path === "metadata.labels") return malformed("", key, qualifiedName);
    return [unconvertible(fieldPath, `field label does not support subscript: ${fieldPath}`)];
  }
  // Very old clients say spec.host.
  const path = fieldPath === "spec.host" ? "spec.nodeName" : fieldPath;
  if (!knownFields.has(path)) return [unconvertible(fieldPath, `field label not supported: ${fieldPath}`)];
  return allowed.includes(path) ? none : [notSupported("fieldPath", allowed, path)];
}

const unconvertible = (path: string, why: string) => invalid("fieldPath", `error converting fieldPath: ${why}`, path);

const shownAmounts = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const bytesUnits = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
const zeroDivisors = new Set([undefined, "", "0"]);

/** In a volume it must be said whose resources are meant. */
export function* checkResourceField(
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  inVolume: boolean,
): Iterable<Problem> {
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  if (inVolume && containerName === "") yield required("containerName");
  else if (resource === "") yield required("resource");
  else if (!shownAmounts.includes(resource) && !hugePages) yield notSupported("resource", shownAmounts);
  if (zeroDivisors.has(divisor)) return;
  const [units, name] = unitsOf(resource, hugePages);
  if (units.length > 0 && !units.includes(divisor ?? ""))
    yield invalid(
      "divisor",
      `only divisor's values ${units.length === 2 ? units.join(" and ") : units.join(", ")} are supported with the ${name} resource`,
      resource,
    );
}

function unitsOf(resource: string, hugePages: boolean): [units: readonly string[], name: string] {
  if (hugePages) return [bytesUnits, "hugepages"];
  switch (resource.slice(resource.indexOf(".") + 1)) {
    case "cpu":
      return [["1m", "1"], "cpu"];
    case "memory":
      return [bytesUnits, "memory"];
    case "ephemeral-storage":
      return [bytesUnits, "local ephemeral storage"];
    default:
      return [[], ""];
  }
}
