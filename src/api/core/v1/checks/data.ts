// Config maps and secrets.
// Upstream: pkg/apis/core/validation/validation.go.

import { fromBase64 } from "#base/base64.ts";
import { equal } from "#base/collections.ts";
import { byteLength, configMapKey } from "#schema/formats.ts";
import { forbidden, invalid, type Problem, required, tooLong } from "#schema/index.ts";
import { parseJson } from "#schema/json.ts";
import type { ConfigMap } from "../config-map.ts";
import type { Secret } from "../secret.ts";
import { malformed } from "./problems.ts";

const mostBytes = 1024 * 1024;

export function* checkConfigMap(configMap: ConfigMap, old: ConfigMap | undefined): Iterable<Problem> {
  const { data = {}, binaryData = {} } = configMap;
  yield* checkFrozen(configMap, old, ["data", "binaryData"]);
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    yield* malformed(`data[${key}]`, key, configMapKey);
    if (Object.hasOwn(binaryData, key)) yield invalid(`data[${key}]`, "duplicate of key present in binaryData", key);
    bytes += byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    yield* malformed(`binaryData[${key}]`, key, configMapKey);
    bytes += decodedLength(value);
  }
  // Upstream names no field, and shows no field as an empty list.
  if (bytes > mostBytes) yield tooLong("[]", mostBytes);
}

function* checkFrozen<K extends string>(
  object: { readonly immutable?: boolean | undefined } & { readonly [key in K]?: unknown },
  old: typeof object | undefined,
  fields: readonly K[],
): Iterable<Problem> {
  if (!old?.immutable) return;
  const why = "field is immutable when `immutable` is set";
  if (!object.immutable) yield forbidden("immutable", why);
  for (const field of fields) if (!equal(object[field] ?? {}, old[field] ?? {})) yield forbidden(field, why);
}

const decodedLength = (base64: string): number => {
  const letters = base64.replaceAll(/[\r\n=]/g, "").length;
  return Math.floor((letters * 3) / 4);
};

export function* checkSecret(secret: Secret, old: Secret | undefined): Iterable<Problem> {
  const { data = {} } = secret;
  yield* checkFrozen(secret, old, ["data"]);
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    yield* malformed(`data[${key}]`, key, configMapKey);
    bytes += decodedLength(value);
  }
  if (bytes > mostBytes) yield tooLong("data", mostBytes);
  yield* checkSecretType(secret, data);
}

const accountName = "kubernetes.io/service-account.name";

/** Some types promise that certain keys are there. */
function* checkSecretType({ type, metadata }: Secret, data: Readonly<Record<string, string>>): Iterable<Problem> {
  switch (type) {
    case "kubernetes.io/service-account-token":
      if (!metadata.annotations?.[accountName]) yield required(`metadata.annotations[${accountName}]`);
      return;
    case "kubernetes.io/dockercfg":
      return yield* jsonAt(".dockercfg", data);
    case "kubernetes.io/dockerconfigjson":
      return yield* jsonAt(".dockerconfigjson", data);
    case "kubernetes.io/basic-auth":
      if (!Object.hasOwn(data, "username") && !Object.hasOwn(data, "password")) {
        yield required("data[username]");
        yield required("data[password]");
      }
      return;
    case "kubernetes.io/ssh-auth":
      if (!data["ssh-privatekey"]) yield required("data[ssh-privatekey]");
      return;
    case "kubernetes.io/tls":
      for (const key of ["tls.crt", "tls.key"]) if (!Object.hasOwn(data, key)) yield required(`data[${key}]`);
  }
}

function* jsonAt(key: string, data: Readonly<Record<string, string>>): Iterable<Problem> {
  const at = `data[${key}]`;
  if (!Object.hasOwn(data, key)) return yield required(at);
  const why = jsonError(fromBase64(data[key] ?? "") ?? new Uint8Array());
  // The message must not tell what is in the secret either, as that of the parser would.
  if (why) yield invalid(at, why, "<secret contents redacted>");
}

function jsonError(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return "unexpected end of JSON input";
  try {
    const value: unknown = parseJson(new TextDecoder().decode(bytes)).value;
    return typeof value === "object" && !Array.isArray(value)
      ? undefined
      : `json: cannot unmarshal ${Array.isArray(value) ? "array" : typeof value} into Go value of type map[string]interface {}`;
  } catch {
    return "invalid JSON";
  }
}
