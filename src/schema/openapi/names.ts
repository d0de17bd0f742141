// The names that upstream's documents give to types: generated clients, kubectl and schema caches know them.
import type { AnyKind } from "../kind.ts";

/** Where upstream keeps the packages that are not in k8s.io/api. */
const elsewhere: Readonly<Record<string, string>> = {
  meta: "io.k8s.apimachinery.pkg.apis.meta",
  apiextensions: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
  metrics: "io.k8s.metrics.pkg.apis.metrics",
  apiregistration: "io.k8s.kube-aggregator.pkg.apis.apiregistration",
};

/** "core/v1.PodSpec" is "io.k8s.api.core.v1.PodSpec"; what has no version ("version.Info") is of apimachinery. */
export function definitionName(structName: string): string {
  const [, name = "", rest = ""] = /^([^/]+)\/(v\d.*)$/.exec(structName) ?? [];
  if (name === "") return `io.k8s.apimachinery.pkg.${structName.replace("/", ".")}`;
  return `${elsewhere[name] ?? `io.k8s.api.${name}`}.${rest}`;
}

export const kindDefinitionName = (kind: AnyKind): string => kind.model.publication.definitionName(kind);

/** Of a group or version in an operation's id: "rbac.authorization.k8s.io" is "RbacAuthorization". */
export const idPart = (text: string): string =>
  text
    .replace(/\.k8s\.io$/, "")
    .split(/[^A-Za-z0-9_]+/)
    .map(capitalized)
    .join("");

/** Of an operation, for those who sort operations by it: "rbacAuthorization_v1". */
export const tagOf = (group: string, version?: string): string => {
  const [first = "", ...rest] = (group === "" ? "core" : group).replace(/\.k8s\.io$/, "").split(/[^A-Za-z0-9_]+/);
  const name = [first, ...rest.map(capitalized)].join("");
  return version === undefined ? name : `${name}_${version}`;
};

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const pathOfGroupVersion = (group: string, version: string): string =>
  group === "" ? `api/${version}` : `apis/${group}/${version}`;
