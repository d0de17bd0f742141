// Secrets of a cluster of this machine are encrypted with a key of its own. The key is in an EncryptionConfiguration beside the store, which
// a person can change: it is read again while the cluster runs.
import { existsSync, readFileSync } from "node:fs";
import { type EncryptionRules, parseEncryptionConfiguration } from "#apiserver/encryption/configuration.ts";
import { toBase64 } from "#base/base64.ts";
import { systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { type Random, systemRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { writeDurably } from "#store/host/write-durably.ts";
import { type EncryptedStore, openEncrypted } from "../encryption-settings.ts";
import { openStore } from "../open-store.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { type Settings, storeOf } from "./settings.ts";

/** Makes the file if the cluster has none, and answers the settings to remember. Throws if a key is missing that there was. */
export function ensureEncryption(place: ClusterFolder, settings: Settings, random: Random): Settings {
  if (storeOf(settings) === "memory") return settings;
  const remembered = { ...settings, encryptsSecrets: true };
  if (existsSync(place.encryption)) return remembered;
  if (settings.encryptsSecrets)
    throw new Error(
      `${place.encryption} is missing: it has the key that the Secrets of cluster ${JSON.stringify(place.name)} are encrypted with, and nobody can read them without it. Put it back from where you keep a copy`,
    );
  writeDurably(place.encryption, configurationWith(random.bytes(32)));
  return remembered;
}

/** The store of a cluster, encrypted as its file says. */
export function openStoreOf(
  place: ClusterFolder,
  settings: Settings,
  log: Log,
  open = (): Promise<StoreEngine> => openStore({ ...settings, "data-dir": place.store }, log),
): Promise<EncryptedStore> {
  const encrypts = settings.encryptsSecrets === true;
  const flags = {
    "encryption-provider-config": encrypts ? place.encryption : undefined,
    "encryption-provider-config-automatic-reload": encrypts,
  };
  return openEncrypted(flags, { clock: systemClock, random: systemRandom, log }, open);
}

/** Identity reads what was written before there was a key. */
const configurationWith = (
  secret: Uint8Array,
): string => `# How this cluster's objects are encrypted in its store. Whoever has this file can read them; without it nobody can.
# To rotate the key: put a new one first in the list, wait two minutes, write all Secrets again
# (kubectl get secrets -A -o json | kubectl replace -f -), and take the old one away.
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["secrets"]
  providers:
  - aesgcm:
      keys:
      - name: key1
        secret: ${toBase64(secret)}
  - identity: {}
`;

/** What of a cluster is encrypted, in a line; undefined where nothing is. */
export function encryptionWords({ encryption }: ClusterFolder): string | undefined {
  if (!existsSync(encryption)) return undefined;
  try {
    const lines = [...wordsOf(parseEncryptionConfiguration(readFileSync(encryption, "utf8")))];
    return lines.length === 0 ? undefined : `${lines.join("; ")} (${encryption})`;
  } catch (error) {
    return `${encryption} cannot be used: ${error instanceof Error ? error.message : error}`;
  }
}

function* wordsOf(rules: EncryptionRules): Generator<string> {
  for (const [resource, [first]] of rules) {
    if (!first || first.type === "identity") continue;
    const key = first.type === "kms" ? first.name : (first.keys[0]?.name ?? "");
    yield `${resource} at rest with ${first.type} key ${JSON.stringify(key)}`;
  }
}
