// Finds the credentials for an image in the pod's pull secrets, of both types, as upstream's pkg/credentialprovider matches them.
import type { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { fromBase64 } from "#base/base64.ts";
import type { Client } from "#client/client.ts";
import { parseJson } from "#schema/json.ts";
import type { Credentials } from "./runtime.ts";

export function imageCredentials(client: Client) {
  return async (pod: Pod, image: string, signal: AbortSignal): Promise<Credentials | undefined> => {
    const { namespace } = pod.metadata;
    for (const { name } of pod.spec.imagePullSecrets ?? []) {
      const secret = name ? await client.bound({ signal }).find(Secret, { namespace, name }) : undefined;
      const found = secret && credentialsIn(secret, image);
      if (found) return found;
    }
    return undefined;
  };
}

/** What a secret says about the registry of an image; nothing if it is not of a form that says so. */
export function credentialsIn({ data = {} }: Secret, image: string): Credentials | undefined {
  const config = data[".dockerconfigjson"];
  const legacy = data[".dockercfg"];
  const auths = config === undefined ? parsed(legacy) : recordOf(parsed(config).auths);
  const matches = Object.keys(auths)
    .filter((place) => isPrefixOf(place, image))
    .toSorted((a, b) => b.length - a.length); // the closest place counts
  return matches.map((place) => credentialsOf(auths[place])).find((found) => found !== undefined);
}

type Json = Readonly<Record<string, unknown>>;
const recordOf = (value: unknown): Json => (typeof value === "object" && value !== null ? { ...value } : {});

function parsed(base64: string | undefined): Json {
  if (base64 === undefined) return {};
  return recordOf(parseJson(new TextDecoder().decode(fromBase64(base64))).value);
}

/** `https://registry.example/v1/`, `registry.example` and `registry.example/team` cover `registry.example/team/app:1`. */
function isPrefixOf(place: string, image: string): boolean {
  const wanted = place.replace(/^https?:\/\//, "").replace(/\/(v1|v2)?\/?$/, "");
  const full = fullName(image);
  const isHub = wanted === "index.docker.io" || wanted === "docker.io";
  return full === wanted || full.startsWith(`${isHub ? "docker.io" : wanted}/`);
}

/** Names without a registry are the Docker Hub's. */
function fullName(image: string): string {
  const [first = "", ...rest] = image.split("/");
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  return hasRegistry ? image : `docker.io/${rest.length > 0 ? image : `library/${image}`}`;
}

function credentialsOf(value: unknown): Credentials | undefined {
  const { auth, username, password } = recordOf(value);
  if (typeof username === "string" && typeof password === "string") return { username, password };
  if (typeof auth !== "string") return undefined;
  const text = new TextDecoder().decode(fromBase64(auth));
  const colon = text.indexOf(":");
  return colon < 0 ? undefined : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
