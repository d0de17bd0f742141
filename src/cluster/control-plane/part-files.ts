// What parts in pods read from the disk of the machine, besides what every control plane has there.
import { join } from "node:path";
import { systemClock as clock } from "#base/clock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { type Certificates, replaceFile } from "../certificates.ts";
import type { ControlPlaneCertificates } from "../control-plane-certificates.ts";
import { etcdCertificates } from "../etcd/etcd-certificates.ts";
import { kubeletClient } from "../identities.ts";
import { signingKeyIn } from "../identity-options.ts";
import { kubeconfig } from "../kubeconfig.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import type { Settings } from "../local/settings.ts";

/** Where the kubeconfigs of parts in pods are: a folder for each, so that none sees another's. */
export const partKubeconfigs = ({ folder }: Pick<ClusterFolder, "folder">): string => join(folder, "kubeconfigs");

export function writePartKubeconfigs(
  place: Pick<ClusterFolder, "folder" | "context">,
  { authority, clients }: ControlPlaneCertificates,
  url: string,
): void {
  for (const part of ["controller-manager", "scheduler"] as const) {
    const folder = join(partKubeconfigs(place), part);
    makeFolder(folder);
    replaceFile(join(folder, "kubeconfig"), kubeconfig(place.context, url, authority.cert, clients[part]), 0o600);
  }
}

/** Certificates and keys that nobody but the pods asks for; `address` is that of their node. */
export function issuePartCertificates(
  { certificates: folder }: Pick<ClusterFolder, "certificates">,
  { ha }: Pick<Settings, "ha">,
  own: Certificates,
  address: string,
): void {
  own.issue("apiserver-kubelet-client", kubeletClient);
  signingKeyIn(folder);
  if (ha) etcdCertificates(folder, [address], clock);
}
