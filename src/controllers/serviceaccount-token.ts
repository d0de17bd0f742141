// Fills secrets that people make for tokens of service accounts, and deletes them with their account.
// Upstream: pkg/controller/serviceaccount/tokens_controller.go.

import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { textToBase64 } from "#base/base64.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { controller, watching } from "#client/controller.ts";
import { keyOf, type ObjectKey } from "#client/object-key.ts";
import { accountAnnotations, legacyClaims, legacyIssuer, tokenSecretType } from "#rules/legacy-tokens.ts";

export interface TokenSettings {
  /** The CA bundle of the API server, in PEM; left out of the secrets if it is empty. */
  readonly rootCa: string;
  /** Makes a token with these claims. */
  readonly sign: (claims: object) => Promise<string>;
}

const { name: nameAnnotation, uid: uidAnnotation } = accountAnnotations;

const isForToken = ({ type }: Secret): boolean => type === tokenSecretType;
const accountOf = ({ metadata: { namespace, annotations } }: Secret): ObjectKey => ({
  namespace,
  name: annotations?.[nameAnnotation] ?? "",
});
const secretsByAccount = index(Secret, (secret) => (isForToken(secret) ? [keyOf(accountOf(secret))] : []));

export const serviceAccountTokenController = (settings: TokenSettings) =>
  controller({
    name: "serviceaccount-token",
    queue: "serviceaccount_tokens_secret",
    for: Secret,
    concerns: isForToken,
    watches: [
      watching(ServiceAccount, ({ metadata }, cache) =>
        cache.by(secretsByAccount, keyOf(metadata)).map((secret) => secret.metadata),
      ),
    ],

    async reconcile(secret, { client, cache }) {
      const place = accountOf(secret);
      const isMeant = (account: ServiceAccount | undefined): account is ServiceAccount => {
        const uid = secret.metadata.annotations?.[uidAnnotation];
        return account !== undefined && (!uid || uid === account.metadata.uid);
      };
      const cached = cache.get(ServiceAccount, place);
      // One that the cache does not know yet may be there.
      const account = isMeant(cached) ? cached : await client.find(ServiceAccount, place);
      try {
        if (isMeant(account)) {
          const filled = await fill(secret, account, settings);
          if (filled) await client.update(Secret, filled);
        } else {
          const preconditions = { uid: secret.metadata.uid ?? "" };
          await client.delete(Secret, secret.metadata, { preconditions });
        }
      } catch (error) {
        if (!isConflict(error) && !isNotFound(error)) throw error; // it has changed, and is looked at again
      }
    },
  });

/** The secret with all that it lacks; undefined if that is nothing. */
async function fill(secret: Secret, account: ServiceAccount, settings: TokenSettings): Promise<Secret | undefined> {
  const { data = {} } = secret;
  const { namespace = "", name, uid } = account.metadata;
  const rootCa = settings.rootCa === "" ? data["ca.crt"] : textToBase64(settings.rootCa);
  if (data.token && data.namespace && data["ca.crt"] === rootCa) return undefined;
  const claims = {
    iss: legacyIssuer,
    sub: `system:serviceaccount:${namespace}:${name}`,
    [legacyClaims.namespace]: namespace,
    [legacyClaims.secret]: secret.metadata.name,
    [legacyClaims.account]: name,
    [legacyClaims.uid]: uid,
  };
  const { annotations } = secret.metadata;
  return {
    ...secret,
    metadata: {
      ...secret.metadata,
      annotations: { ...annotations, [nameAnnotation]: name, [uidAnnotation]: uid ?? "" },
    },
    data: {
      ...data,
      ...(rootCa !== undefined && { "ca.crt": rootCa }),
      namespace: data.namespace || textToBase64(namespace),
      token: data.token || textToBase64(await settings.sign(claims)),
    },
  };
}
