// Upstream: plugin/pkg/admission/admit/admission.go and plugin/pkg/admission/deny/admission.go.
import { admissionPlugin } from "./plugin.ts";

const everything = { verbs: ["create", "update", "delete", "connect"], through: ["*"] } as const;

/** Lets everything pass. Upstream has it for compatibility, and so do we. */
export const alwaysAdmit = admissionPlugin({ name: "AlwaysAdmit", on: everything, validate: () => undefined });

/** Refuses everything: for tests of refusals. */
export const alwaysDeny = admissionPlugin({
  name: "AlwaysDeny",
  on: everything,
  validate: () => "admission control is denying all modifications",
});
