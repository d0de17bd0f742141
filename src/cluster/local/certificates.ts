import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { hostAddressesIn } from "#network/local-network.ts";
import { type ControlPlaneCertificates, controlPlaneCertificates } from "../control-plane-certificates.ts";
import { admin } from "../identities.ts";
import { LiveCertificates } from "../live-certificates.ts";
import { plannedNetwork } from "../machine/planned-network.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { isInPods } from "./control-plane-settings.ts";
import { homeAddress } from "./home-address.ts";
import { isOpen, type Settings } from "./settings.ts";

/** The same, followed while the cluster runs. */
export const liveCertificatesOf = (
  place: ClusterFolder,
  settings: Settings,
  log: Log,
  renewOthers: () => unknown = () => undefined,
): LiveCertificates<ControlPlaneCertificates> =>
  new LiveCertificates({
    read() {
      renewOthers();
      return certificatesOf(place, settings);
    },
    files: [join(place.certificates, "apiserver.crt")],
    clock: systemClock,
    log: log.with({ component: "certificates" }),
  });

/** The certificates of a cluster, made where they are missing. */
export const certificatesOf = (place: ClusterFolder, settings: Settings): ControlPlaneCertificates =>
  controlPlaneCertificates(place.certificates, {
    clock: systemClock,
    admin,
    serviceRange: settings["service-cluster-ip-range"],
    addresses: [
      settings["bind-address"],
      ...settings["apiserver-cert-extra-sans"],
      ...(settings.runtime === "containerd" ? hostAddressesIn(settings["node-range"]) : []),
      ...(settings.runtime === "containerd" && isOpen(settings) ? [homeAddress(settings)] : []),
      ...(isInPods(settings) ? (plannedNetwork(place, settings).nodes[0]?.addresses ?? []) : []),
    ],
  });
