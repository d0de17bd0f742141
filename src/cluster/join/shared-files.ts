// What a machine has to have to become a control plane: the keys of the authorities, and the settings. They travel in a Secret, each file
// encrypted with a key that is printed and not kept. The Secret belongs to a token that ends after two hours, and ends with it.
// Upstream: cmd/kubeadm/app/phases/copycerts/copycerts.go.
import { createCipheriv, createDecipheriv } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Secret } from "#api/core/v1/secret.ts";
import type { Clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { Random } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { bootstrapTokenNamespace, bootstrapTokenType } from "#rules/bootstrap-tokens.ts";
import { parseJson } from "#schema/json.ts";
import { timeOf } from "#schema/time.ts";
import { replaceFile } from "../certificates.ts";
import { frontProxyFolder } from "../control-plane-certificates.ts";
import { etcdFolder } from "../etcd/etcd-certificates.ts";
import { readMember } from "../etcd/local-etcd.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { readSettings, type Settings } from "../local/settings.ts";
import { sharedSecret } from "./shared-secret.ts";
import { makeToken, secretName } from "./tokens.ts";

const livesMs = 2 * 60 * 60 * 1000;
const [keyBytes, nonceBytes, tagBytes] = [32, 12, 16];

/** Of the files of the authorities in the folder of a cluster; kubeadm gives them these names. */
const authorities: Readonly<Record<string, string>> = {
  "ca.crt": "ca.crt",
  "ca.key": "ca.key",
  "sa.key": "sa.key",
  "front-proxy-ca.crt": join(frontProxyFolder, "ca.crt"),
  "front-proxy-ca.key": join(frontProxyFolder, "ca.key"),
  "etcd-ca.crt": join(etcdFolder, "ca.crt"),
  "etcd-ca.key": join(etcdFolder, "ca.key"),
};

/** Of an etcd that was there before: what its flags name. */
const givenEtcd = { "etcd-cafile": "ca.crt", "etcd-certfile": "client.crt", "etcd-keyfile": "client.key" } as const;
const givenFlags = Object.keys(givenEtcd) as (keyof typeof givenEtcd)[];

export interface SharedFiles {
  readonly settings: Settings;
  /** Of the members of an etcd that was started for the cluster. */
  readonly etcdEndpoints: readonly string[];
  /** The text of each file, by the name it has in the Secret. */
  readonly texts: Readonly<Record<string, string>>;
}

export const makeCertificateKey = (random: Random): string => Buffer.from(random.bytes(keyBytes)).toString("hex");

/** As Go's AEAD lays it out: the nonce, what is encrypted, and the tag. */
export function seal(key: string, text: string, random: Random): Buffer {
  const nonce = random.bytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(key, "hex"), nonce);
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
}

/** Throws if the key is another, or if a bit was changed. */
export function unseal(key: string, sealed: Buffer): string {
  const cipher = createDecipheriv("aes-256-gcm", Buffer.from(key, "hex"), sealed.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  });
  cipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([cipher.update(sealed.subarray(nonceBytes, -tagBytes)), cipher.final()]).toString("utf8");
}

/** Throws if the cluster is not one that can have several control planes. */
export function collectFiles(place: ClusterFolder): SharedFiles {
  const settings = readSettings(place);
  const member = readMember(place);
  if (!settings || (!settings.ha && settings["etcd-servers"].length === 0))
    throw new Error(
      `cluster ${JSON.stringify(place.name)} keeps its state on this machine alone, so there is no second control plane for it; "knarr store move --to etcd" moves it to an etcd that several share`,
    );
  if (member?.address.startsWith("127."))
    throw new Error(
      `the etcd of cluster ${JSON.stringify(place.name)} is at ${member.address}, where no other machine reaches it; a cluster that is made with --ha and --bind-address has one that others reach`,
    );
  return { settings, etcdEndpoints: member?.endpoints ?? [], texts: textsOf(place, settings) };
}

/** The files that a control plane cannot do without, by the names they have in the Secret. */
export function textsOf(place: ClusterFolder, settings: Settings): Readonly<Record<string, string>> {
  const read = (path: string) => (existsSync(path) ? readFileSync(path, "utf8") : undefined);
  const found: Record<string, string | undefined> = { "encryption.yaml": read(place.encryption) };
  for (const [name, path] of Object.entries(authorities)) found[name] = read(join(place.certificates, path));
  for (const flag of givenFlags) found[flag] = settings[flag] === undefined ? undefined : read(settings[flag]);
  return Object.fromEntries(Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Puts the files into the Secret, and answers the key. */
export async function shareFiles(
  client: Client,
  files: SharedFiles,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<string> {
  const key = makeCertificateKey(random);
  const token = makeToken(random);
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const owner = await client.create(Secret, {
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: { namespace: bootstrapTokenNamespace, name: secretName(token.id) },
    type: bootstrapTokenType,
    data: {
      "token-id": base64(token.id),
      "token-secret": base64(token.secret),
      expiration: base64(timeOf(clock.now() + livesMs)),
      description: base64("Ends what control planes join with."),
    },
  });
  const { settings, etcdEndpoints, texts } = files;
  const all = { ...texts, "settings.json": JSON.stringify({ settings, etcdEndpoints }) };
  const { name, uid } = owner.metadata;
  const secret = {
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: {
      ...sharedSecret,
      ownerReferences: [{ apiVersion: "v1", kind: "Secret", name, uid: uid ?? "", controller: true }],
    },
    data: Object.fromEntries(
      Object.entries(all).map(([file, text]) => [file, seal(key, text, random).toString("base64")]),
    ),
  };
  const before = await client.find(Secret, sharedSecret);
  if (before) await client.delete(Secret, sharedSecret);
  await client.create(Secret, secret);
  return key;
}

/** Throws an error that says what is wrong. */
export async function fetchFiles(client: Client, key: string): Promise<SharedFiles> {
  const again = 'run "knarr token create --control-plane" where the cluster is, and use what it prints';
  const secret = await client.find(Secret, sharedSecret);
  if (!secret)
    throw new Error(
      `what control planes need is not there: it is kept for two hours, and not by all clusters; ${again}`,
    );
  const texts: Record<string, string> = {};
  try {
    for (const [name, data] of Object.entries(secret.data ?? {}))
      texts[name] = unseal(key, Buffer.from(data, "base64"));
  } catch (cause) {
    throw new Error(`the --certificate-key is not the one that was printed last; ${again}`, { cause });
  }
  const { "settings.json": own = "{}", ...rest } = texts;
  const { settings, etcdEndpoints } = parseJson(own).value as Omit<SharedFiles, "texts">; // ours: only we have the key
  return { settings, etcdEndpoints, texts: rest };
}

/** Writes the files, and answers the settings that name them. */
export function placeFiles(place: ClusterFolder, { settings, texts }: Omit<SharedFiles, "etcdEndpoints">): Settings {
  const write = (path: string, text: string | undefined) => {
    if (text === undefined) return;
    makeFolder(dirname(path));
    replaceFile(path, text, 0o600);
  };
  for (const [name, path] of Object.entries(authorities)) write(join(place.certificates, path), texts[name]);
  write(place.encryption, texts["encryption.yaml"]);
  const given = givenFlags.filter((flag) => texts[flag] !== undefined);
  const folder = join(place.certificates, "etcd-given");
  for (const flag of given) write(join(folder, givenEtcd[flag]), texts[flag]);
  return { ...settings, ...Object.fromEntries(given.map((flag) => [flag, join(folder, givenEtcd[flag])])) };
}
