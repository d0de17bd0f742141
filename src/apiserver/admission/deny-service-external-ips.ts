// Upstream: plugin/pkg/admission/network/denyserviceexternalips/admission.go.
import { Service } from "#api/core/v1/service.ts";
import { admissionPlugin } from "./plugin.ts";

/** External addresses let anyone who may write services take over traffic: those in use stay, new ones are refused. */
export const denyServiceExternalIps = admissionPlugin({
  name: "DenyServiceExternalIPs",
  on: { kind: Service, verbs: ["create", "update"] },
  validate({ object, old }) {
    const known = new Set(old?.spec.externalIPs);
    const isNew = (object.spec.externalIPs ?? []).some((address) => !known.has(address));
    return isNew ? "Use of external IPs is denied by admission control" : undefined;
  },
});
