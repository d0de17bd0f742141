// What the process of a cluster does whether the control plane is in it or in pods.
import { parseAddressRanges, parsePortRange, type ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import { aborted } from "#base/aborted.ts";
import { limitHeapGrowth } from "#base/host/heap-growth.ts";
import { collectWhenIdle } from "#base/host/idle-collection.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Cluster } from "../cluster.ts";
import type { liveCertificatesOf } from "./certificates.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import type { Settings } from "./settings.ts";
import type { StartStep } from "./step.ts";

const nodePorts = "30000-32767";

export const networkOf = (settings: Settings): ServiceNetwork => ({
  addresses: parseAddressRanges(settings["service-cluster-ip-range"]),
  nodePorts: parsePortRange(nodePorts),
});

/** Says how far the cluster is. */
export const reportOf = (
  cluster: Pick<Cluster, "serving" | "ready">,
  url: () => string,
  { log, onStep }: { readonly log: Log; readonly onStep: (step: StartStep) => void },
): Component => ({
  name: "report",
  async run(signal: AbortSignal) {
    await cluster.serving(signal);
    onStep({ is: "serving", url: url() });
    await cluster.ready(signal);
    onStep({ is: "ready" });
    log.info("ready", { url: url(), component: "cluster" });
    limitHeapGrowth();
    collectWhenIdle();
    await aborted(signal);
  },
});

interface KubeconfigPlaces {
  readonly place: ClusterFolder;
  readonly log: Log;
  readonly url: string;
}

/** The kubeconfigs of the cluster have copies of certificates, and so has that of whoever made it. */
export function keepKubeconfigs(
  certificates: ReturnType<typeof liveCertificatesOf>,
  { place, log, url }: KubeconfigPlaces,
  signal: AbortSignal,
): void {
  certificates.current.writeKubeconfigs(place.context, url);
  const tellPeople = async (): Promise<void> => {
    try {
      const { renewContext } = await import("./contexts.ts");
      await renewContext(place, signal);
    } catch (error) {
      log.error("a kubeconfig has the administrator's certificate of before", { error });
    }
  };
  certificates.subscribe((now) => {
    now.writeKubeconfigs(place.context, url);
    void tellPeople();
  });
}
