// Signs the ConfigMap cluster-info, which everybody may read, with each bootstrap token: a node that was told a token learns from it
// which API server to trust.
// Upstream: pkg/controller/bootstrap/bootstrapsigner.go.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { toBase64Url } from "#base/base64.ts";
import { equal, min } from "#base/collections.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { controller, watching } from "#client/controller.ts";
import {
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  bootstrapTokenType,
  tokenEnd,
  tokenValue,
} from "#rules/bootstrap-tokens.ts";

const clusterInfo = { namespace: "kube-public", name: "cluster-info" };
const signaturePrefix = "jws-kubeconfig-";

export const bootstrapSignerController = controller({
  name: "bootstrap-signer",
  queue: "bootstrap_signer_queue",
  for: ConfigMap,
  workers: 1,
  concerns: ({ metadata }) => metadata.name === clusterInfo.name && metadata.namespace === clusterInfo.namespace,
  watches: [watching(Secret, (secret) => (isToken(secret) ? [clusterInfo] : []))],

  async reconcile(configMap, { client, cache, clock }) {
    const content = configMap.data?.kubeconfig;
    if (content === undefined) return;
    const now = clock.now();
    const tokens = cache.list(Secret, bootstrapTokenNamespace).filter((secret) => isSigning(secret, now));
    const signatures = await Promise.all(
      tokens.map(async (secret) => {
        const id = tokenValue(secret, "token-id");
        return [`${signaturePrefix}${id}`, await signature(content, id, tokenValue(secret, "token-secret"))] as const;
      }),
    );
    const others = Object.entries(configMap.data ?? {}).filter(([key]) => !key.startsWith(signaturePrefix));
    const data = Object.fromEntries([...others, ...signatures]);
    const soonest = min(tokens.flatMap((secret) => tokenEnd(secret) ?? []));
    try {
      if (!equal(data, configMap.data)) await client.update(ConfigMap, { ...configMap, data });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error; // it has changed, and is looked at again
    }
    return soonest === undefined ? undefined : { afterMs: soonest - now };
  },
});

const isToken = ({ type, metadata }: Secret): boolean =>
  type === bootstrapTokenType && metadata.namespace === bootstrapTokenNamespace;

function isSigning(secret: Secret, now: number): boolean {
  const id = tokenValue(secret, "token-id");
  return (
    isToken(secret) &&
    id !== "" &&
    secret.metadata.name === `${bootstrapTokenPrefix}${id}` &&
    tokenValue(secret, "token-secret") !== "" &&
    (tokenEnd(secret) ?? Number.POSITIVE_INFINITY) > now &&
    tokenValue(secret, "usage-bootstrap-signing") === "true"
  );
}

/** A JWS (RFC 7515) without its content, signed with the token itself. */
async function signature(content: string, id: string, secret: string): Promise<string> {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const head = toBase64Url(bytes(JSON.stringify({ alg: "HS256", kid: id })));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret), algorithm, false, ["sign"]);
  const signed = await crypto.subtle.sign("HMAC", key, bytes(`${head}.${toBase64Url(bytes(content))}`));
  return `${head}..${toBase64Url(new Uint8Array(signed))}`;
}
