// Certificates and passwords in Secrets.
import type { Secret } from "#api/core/v1/secret.ts";

/** Whether a chain and a key, both in PEM, are readable and belong together. One that the proxy refuses would hold up all changes. */
export type KeyPairCheck = (certificate: string, key: string) => boolean;

/** Key and chain in one text, or undefined if the Secret has none that the proxy would take. */
export function certificateIn(secret: Secret | undefined, isKeyPair: KeyPairCheck): string | undefined {
  const [certificate, key] = [textIn(secret, "tls.crt") ?? "", textIn(secret, "tls.key") ?? ""];
  const isPem = (text: string) => /^-----BEGIN [A-Z0-9 ]+-----$/m.test(text);
  if (!isPem(certificate) || !isPem(key) || !isKeyPair(certificate, key)) return undefined;
  // An empty line would end what is said to the proxy.
  const lines = `${key}\n${certificate}`.split(/\r?\n/).filter((line) => line.trim() !== "");
  return `${lines.join("\n")}\n`;
}

export function textIn(secret: Secret | undefined, name: string): string | undefined {
  const base64 = secret?.data?.[name];
  if (base64 === undefined) return undefined;
  return new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
}
