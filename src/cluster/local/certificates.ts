import { systemClock } from "#base/clock.ts";
import { hostAddressIn } from "#network/local-network.ts";
import { type ControlPlaneCertificates, controlPlaneCertificates } from "../control-plane-certificates.ts";
import { admin } from "../identities.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import type { Settings } from "./settings.ts";

/** The certificates of a cluster, made where they are missing. */
export const certificatesOf = (place: ClusterFolder, settings: Settings): ControlPlaneCertificates =>
  controlPlaneCertificates(place.certificates, {
    clock: systemClock,
    admin,
    serviceRange: settings["service-cluster-ip-range"],
    addresses: [
      settings["bind-address"],
      ...(settings.runtime === "containerd" ? [hostAddressIn(settings["node-range"])] : []),
    ],
  });
