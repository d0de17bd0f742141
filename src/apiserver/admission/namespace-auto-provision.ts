// Upstream: plugin/pkg/admission/namespace/autoprovision/admission.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { ApiError } from "#base/errors.ts";
import { admissionPlugin } from "./plugin.ts";

/** The first object of a namespace brings the namespace with it. */
export const namespaceAutoProvision = admissionPlugin({
  name: "NamespaceAutoProvision",
  on: { verbs: ["create"], through: ["*"] },
  async mutate({ kind, namespace, dryRun, server, signal }) {
    if (dryRun || namespace === "" || kind === Namespace || server.get(Namespace, namespace)) return;
    try {
      await server.create(Namespace, { metadata: { name: namespace } }, signal);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.reason !== "AlreadyExists") return error.message;
    }
    return;
  },
});
