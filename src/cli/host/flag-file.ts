import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

/** What the file says that a flag names. An error says which flag that was: also one of `read`, which takes what it can use. */
export function flagFile<T>(name: string, path: string, read: (text: string) => T): T {
  try {
    return read(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`--${name}`, { cause });
  }
}

/** As it is. */
export const asText = (text: string): string => text;

/** Certificates, at least one, and each such that it can be read. */
export function asCertificates(pem: string): string {
  const found = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (found.length === 0) throw new Error("the file holds no certificate");
  for (const one of found) new X509Certificate(one);
  return pem;
}

export function asPrivateKey(pem: string): string {
  createPrivateKey(pem);
  return pem;
}

export function asPublicKey(pem: string): string {
  createPublicKey(pem);
  return pem;
}

/** Whether a key is the one that the first of some certificates is for. */
export const isPair = (certificates: string, key: string): boolean =>
  new X509Certificate(certificates).checkPrivateKey(createPrivateKey(key));
