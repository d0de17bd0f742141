// Warnings about accepted secrets.
// Upstream: pkg/registry/core/secret/strategy.go.
import type { Secret } from "#api/core/v1/secret.ts";
import { fromBase64 } from "#base/base64.ts";

/** Who serves with such a pair reads it with Go's `tls`, which would say this. Whether a pair that is there fits is not looked at. */
export function* secretWarnings({ type, data = {} }: Pick<Secret, "type" | "data">): Iterable<string> {
  if (type !== "kubernetes.io/tls") return;
  if (!hasPem(data["tls.crt"])) yield "tls: failed to find any PEM data in certificate input";
  else if (!hasPem(data["tls.key"])) yield "tls: failed to find any PEM data in key input";
}

const hasPem = (base64 = ""): boolean => new TextDecoder().decode(fromBase64(base64)).includes("-----BEGIN ");
