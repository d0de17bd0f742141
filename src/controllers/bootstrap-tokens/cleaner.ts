// Deletes bootstrap tokens when their time is over.
// Upstream: pkg/controller/bootstrap/tokencleaner.go.
import { Secret } from "#api/core/v1/secret.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { controller } from "#client/controller.ts";
import { bootstrapTokenNamespace, bootstrapTokenType, tokenEnd } from "#rules/bootstrap-tokens.ts";

export const tokenCleanerController = controller({
  name: "token-cleaner",
  queue: "token_cleaner",
  for: Secret,
  workers: 1,
  concerns: ({ type, metadata }) => type === bootstrapTokenType && metadata.namespace === bootstrapTokenNamespace,

  async reconcile(secret, { client, clock }) {
    const end = tokenEnd(secret);
    if (end === undefined) return;
    if (end > clock.now()) return { afterMs: end - clock.now() };
    try {
      await client.delete(Secret, secret.metadata, { preconditions: { uid: secret.metadata.uid ?? "" } });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error; // another one has its name by now
    }
    return undefined;
  },
});
