// Creates the service account `default`, which pods use by default, in every namespace.
// Upstream: pkg/controller/serviceaccount/serviceaccounts_controller.go.

import { Namespace } from "#api/core/v1/namespace.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { isNotFound, isReason } from "#base/errors.ts";
import { controller, watching } from "#client/controller.ts";
import { isNamespaceTerminating } from "./pod-writes.ts";

const name = "default";

export const serviceAccountController = controller({
  name: "serviceaccount",
  for: Namespace,
  workers: 1,
  watches: [
    watching(ServiceAccount, ({ metadata }) => (metadata.name === name ? [{ name: metadata.namespace ?? "" }] : [])),
  ],

  async reconcile({ metadata: { name: namespace }, status }, { client, cache }) {
    if (status.phase !== "Active" || cache.get(ServiceAccount, { namespace, name })) return;
    try {
      await client.create(ServiceAccount, { metadata: { name, namespace } });
    } catch (error) {
      if (!isReason(error, "AlreadyExists") && !isNotFound(error) && !isNamespaceTerminating(error)) throw error;
    }
  },
});
