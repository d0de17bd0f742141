// Warnings about the volumes of pods.
// Upstream: pkg/api/pod/warnings.go.
import type { Volume } from "#api/core/v1/volume.ts";
import { claimSpecWarnings } from "./storage.ts";

const quoted = JSON.stringify;

/** Sources that are deprecated or gone. */
const oldSources: ReadonlyMap<string, string> = new Map([
  ["photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
  ["gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"],
  ["scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
  ["flocker", "deprecated in v1.22, non-functional in v1.25+"],
  ["storageos", "deprecated in v1.22, non-functional in v1.25+"],
  ["quobyte", "deprecated in v1.22, non-functional in v1.25+"],
  ["glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
  ["cephfs", "deprecated in v1.28, non-functional in v1.31+"],
  ["rbd", "deprecated in v1.28, non-functional in v1.31+"],
]);
/** Upstream misspells one where it tells of it. */
const toldAs = (source: string): string => (source === "storageos" ? "storageOS" : source);

/** Whether there could be anything to say of a volume. */
export function isQuestionable(volume: Volume): boolean {
  if (volume.ephemeral || namesPaths(volume)) return true;
  for (const source in volume) if (oldSources.has(source)) return true;
  return false;
}

export function* volumeWarnings(path: string, volumes: readonly Volume[] = []): Iterable<string> {
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}[${i}]`;
    for (const source in volume) {
      const words = oldSources.get(source);
      if (words !== undefined && volume[source as keyof Volume]) yield `${at}.${toldAs(source)}: ${words}`;
    }
    const claim = volume.ephemeral?.volumeClaimTemplate;
    if (claim) yield* claimSpecWarnings(`${at}.ephemeral.volumeClaimTemplate.spec`, claim.spec);
  }
  for (const volume of volumes) if (namesPaths(volume)) yield* overlapWarnings(volume);
}

/** Whether the volume says where in it its files are. */
const namesPaths = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  (configMap?.items ?? secret?.items ?? downwardAPI?.items ?? projected) !== undefined;

/** A path in a volume, and what puts a file there. */
interface Target {
  readonly path: string;
  readonly from: string;
}

function* overlapWarnings({ name, configMap, secret, downwardAPI, projected }: Volume): Iterable<string> {
  const warning = (what: string, overlap: string) => `volume ${quoted(name)} (${what}): overlapping paths: ${overlap}`;
  for (const overlap of overlaps(targets(configMap?.items, "")))
    yield warning(`ConfigMap ${quoted(configMap?.name ?? "")}`, overlap);
  for (const overlap of overlaps(targets(secret?.items, "")))
    yield warning(`Secret ${quoted(secret?.secretName ?? "")}`, overlap);
  for (const overlap of overlaps(targets(downwardAPI?.items, ""))) yield warning("DownwardAPI", overlap);
  const all: Target[] = [];
  for (const source of projected?.sources ?? []) {
    if (Object.keys(source).length === 0) yield `volume ${quoted(name)} (Projected) has no sources provided`;
    const found = projectedTargets(source);
    for (const overlap of overlaps(found, all)) yield warning("Projected", overlap);
    all.push(...found);
  }
}

type Projection = NonNullable<NonNullable<Volume["projected"]>["sources"]>[number];

function projectedTargets(source: Projection): readonly Target[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  if (configMap?.items) return targets(configMap.items, `ConfigMap ${quoted(configMap.name ?? "")}`);
  if (secret?.items) return targets(secret.items, `Secret ${quoted(secret.name ?? "")}`);
  if (downwardAPI?.items) return targets(downwardAPI.items, "DownwardAPI");
  if (serviceAccountToken) return targets([serviceAccountToken], "ServiceAccountToken");
  if (clusterTrustBundle) {
    const { name = clusterTrustBundle.signerName ?? "" } = clusterTrustBundle;
    return targets([clusterTrustBundle], `ClusterTrustBundle ${quoted(name)}`);
  }
  if (!podCertificate) return [];
  const { certificateChainPath = "", keyPath = "", credentialBundlePath = "" } = podCertificate;
  return [
    { path: certificateChainPath, from: "PodCertificate chain" },
    { path: keyPath, from: "PodCertificate key" },
    { path: credentialBundlePath, from: "PodCertificate credential bundle" },
  ].filter(({ path }) => path !== "");
}

const targets = (items: readonly { readonly path: string }[] = [], from: string): readonly Target[] =>
  items.map(({ path }) => ({ path: path.replace(/\/+$/, ""), from }));

/** Each target with those before it that are the same path, or above or below it. */
function* overlaps(found: readonly Target[], before: readonly Target[] = []): Iterable<string> {
  const seen = [...before];
  const told = ({ path, from }: Target) => (from === "" ? quoted(path) : `${quoted(path)} (${from})`);
  for (const target of found) {
    for (const other of seen) {
      const [a, b] = [`${target.path}/`, `${other.path}/`];
      if (target.path !== "" && other.path !== "" && (a.startsWith(b) || b.startsWith(a)))
        yield `${told(target)} with ${told(other)}`;
    }
    seen.push(target);
  }
}
