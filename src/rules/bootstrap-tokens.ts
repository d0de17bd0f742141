// The tokens by which nodes join, as secrets of kube-system say them: who believes, signs with and removes them has to agree.
// Upstream: staging/src/k8s.io/cluster-bootstrap/util/secrets/secrets.go.
import { fromBase64 } from "#base/base64.ts";

export const bootstrapTokenType = "bootstrap.kubernetes.io/token";
export const bootstrapTokenNamespace = "kube-system";
export const bootstrapTokenPrefix = "bootstrap-token-";

/** A secret, in whatever form it is at hand. */
export interface TokenSecret {
  readonly metadata: object;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

/** A value of such a secret as text; empty if it has none. */
export function tokenValue({ data }: TokenSecret, key: string): string {
  const value = data?.[key];
  const bytes = typeof value === "string" ? fromBase64(value) : undefined;
  return bytes ? new TextDecoder().decode(bytes) : "";
}

/** When the token ends, in milliseconds since 1970; undefined if it does not. A time that cannot be read is over. */
export function tokenEnd(secret: TokenSecret): number | undefined {
  const text = tokenValue(secret, "expiration");
  if (text === "") return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const end = isTime ? Date.parse(text) : Number.NaN;
  return Number.isNaN(end) ? Number.NEGATIVE_INFINITY : end;
}
