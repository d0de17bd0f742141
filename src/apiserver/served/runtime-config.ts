// Which of the built-in versions and resources are served: what Kubernetes v1.36 serves by default, and what `--runtime-config` says besides.
// Follows apiserver/pkg/server/resourceconfig upstream: `api/…` first, then versions, then resources.
import { InitializerConfiguration } from "#api/admissionregistration/v1alpha1/initializer-configuration.ts";
import { catalog, onRequest } from "#api/catalog.ts";
import { UsageError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";

export interface EnabledKinds {
  readonly kinds: readonly AnyKind[];
  /** Entries without effect: enabled as part of a group but not present here, or not to be switched off: `resource.k8s.io/v1beta1`. */
  readonly ignored: readonly string[];
}

const stages: Readonly<Record<string, (version: string) => boolean>> = {
  "api/all": () => true,
  "api/ga": (version) => /^v\d+$/.test(version),
  "api/beta": (version) => /^v\d+beta\d+$/.test(version),
  "api/alpha": (version) => /^v\d+alpha\d+$/.test(version),
};

/** Versions that v1.36 has, off by default, and this server does not. */
const missing: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io/v1beta1",
  "authentication.k8s.io/v1alpha1",
  "authentication.k8s.io/v1beta1",
  "certificates.k8s.io/v1alpha1",
  "coordination.k8s.io/v1alpha2",
  "coordination.k8s.io/v1beta1",
  "flowcontrol.apiserver.k8s.io/v1beta1",
  "flowcontrol.apiserver.k8s.io/v1beta2",
  "flowcontrol.apiserver.k8s.io/v1beta3",
  "internal.apiserver.k8s.io/v1alpha1",
  "networking.k8s.io/v1beta1",
  "resource.k8s.io/v1alpha3",
  "resource.k8s.io/v1beta1",
  "resource.k8s.io/v1beta2",
  "scheduling.k8s.io/v1alpha2",
  "storage.k8s.io/v1alpha1",
  "storage.k8s.io/v1beta1",
  "storagemigration.k8s.io/v1beta1",
]);

/** Resources that the server itself needs: they cannot be switched off. */
const needed: ReadonlySet<string> = new Set([
  "v1",
  "apiextensions.k8s.io/v1",
  "apiregistration.k8s.io/v1",
  "coordination.k8s.io/v1",
  "discovery.k8s.io/v1",
  "networking.k8s.io/v1",
  "rbac.authorization.k8s.io/v1",
]);

const allKinds: readonly AnyKind[] = [...catalog, ...onRequest];
const knownVersions: ReadonlySet<string> = new Set([...allKinds.map(({ apiVersion }) => apiVersion), ...missing]);
const knownGroups: ReadonlySet<string> = new Set([...knownVersions].map((version) => groupOf(version)));

/** Throws UsageError for what is not known, or is asked for by its name and is not there. */
export function enabledKinds(pairs: readonly string[]): EnabledKinds {
  const wanted = new Map(pairs.map(parsePair));
  if (wanted.size === 1 && wanted.get("api/all") === false)
    throw new UsageError("--runtime-config: invalid runtime-config with only api/all=false");
  const switches: readonly [string, boolean][] = [...wanted].map(([key, isOn]) => [checkedKey(key, isOn), isOn]);
  const ignored = new Set<string>();
  const isOn = (kind: AnyKind): boolean => {
    const { apiVersion, version, plural } = kind;
    let on = catalog.includes(kind);
    for (const [stage, matches] of Object.entries(stages)) {
      const asked = wanted.get(stage);
      if (asked === undefined || !matches(version)) continue;
      if (!asked && needed.has(apiVersion)) ignored.add(apiVersion);
      else on = asked;
    }
    for (const [key, asked] of switches) if (key === apiVersion) on = asked;
    for (const [key, asked] of switches) if (key === `${apiVersion}/${plural}`) on = asked;
    return on;
  };
  const kinds = allKinds.filter(isOn);
  for (const [stage, matches] of Object.entries(stages))
    if (wanted.get(stage))
      for (const version of missing) if (matches(version.slice(version.indexOf("/") + 1))) ignored.add(version);
  return { kinds, ignored: [...ignored].sort() };
}

/** What a server is told of it: the kinds, and whether new objects wait for initializers. Throws UsageError. */
export function servedBy(
  pairs: readonly string[],
  plugins: readonly string[],
): { readonly kinds: readonly AnyKind[]; readonly initializes: boolean } {
  const { kinds } = enabledKinds(pairs);
  const initializes = plugins.includes("Initializers");
  if (initializes && !kinds.includes(InitializerConfiguration))
    throw new UsageError(
      `--enable-admission-plugins: Initializers takes --runtime-config=${InitializerConfiguration.apiVersion}`,
    );
  return { kinds, initializes };
}

function parsePair(pair: string): [string, boolean] {
  const [key = "", value = "true"] = pair.split("=");
  if (key === "" || !/^(true|false|)$/i.test(value))
    throw new UsageError(`--runtime-config: ${JSON.stringify(pair)} is not of the form NAME=true or NAME=false`);
  return [key, value.toLowerCase() !== "false"];
}

/** The version, or the version and the resource, that a key names: the core group's may be called `api/v1`. */
function checkedKey(key: string, isOn: boolean): string {
  if (Object.hasOwn(stages, key)) return key;
  const plain = key.replace(/^api\/v1(?=\/|$)/, "v1");
  const parts = plain.split("/");
  const isCore = parts[0] === "v1";
  const version = parts.slice(0, isCore ? 1 : 2).join("/");
  const [resource] = parts.slice(isCore ? 1 : 2);
  if (parts.length > (isCore ? 2 : 3) || (!isCore && parts.length < 2))
    throw new UsageError(`--runtime-config: runtime-config invalid key ${key}`);
  if (!knownGroups.has(groupOf(version))) throw new UsageError(`--runtime-config: unknown api groups ${version}`);
  if (!knownVersions.has(version))
    throw new UsageError(`--runtime-config: group version ${version} that has not been registered`);
  if (resource !== undefined && resource !== resource.toLowerCase())
    throw new UsageError(
      `--runtime-config: invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${JSON.stringify(resource)}`,
    );
  if (isOn && missing.has(version))
    throw new UsageError(`--runtime-config: ${version} is not there: Knarr has no kinds of it`);
  if (!isOn && needed.has(version))
    throw new UsageError(
      `--runtime-config: ${version} cannot be switched off: the server keeps objects of its own in it`,
    );
  return plain;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}
