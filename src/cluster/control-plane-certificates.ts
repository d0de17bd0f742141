import { hostname } from "node:os";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { Certificates, type KeyPair, replaceFile } from "./certificates.ts";
import * as identities from "./identities.ts";
import { kubeconfig } from "./kubeconfig.ts";

export interface ControlPlaneCertificates {
  readonly authority: KeyPair;
  readonly server: KeyPair;
  /** Of those who look after the cluster, and of the parts that may run alone, by name. */
  readonly clients: Readonly<Record<"admin" | "controller-manager" | "scheduler", KeyPair>>;
  /** By which this server is known to those behind it, and the authority of that, which signs for nobody else. */
  readonly frontProxy: FrontProxyCertificates;
  /** Writes `admin.kubeconfig`, and one for each part of the control plane that may run alone, into the folder. */
  writeKubeconfigs(context: string, server: string): void;
}

export interface FrontProxyCertificates {
  /** In PEM. */
  readonly authority: string;
  readonly client: KeyPair;
}

/** In the folder of the certificates. */
export const frontProxyFolder = "front-proxy";
/** As kubeadm calls it. */
export const frontProxyName = "front-proxy-client";

export interface ControlPlaneNames {
  readonly clock: Clock;
  readonly serviceRange: string;
  /** Addresses it listens on; all of them is none. */
  readonly addresses: readonly string[];
  /** As whom those come who look after the cluster. */
  readonly admin: identities.CertificateIdentity;
}

/** All that the control plane needs to know and be known. What is there already stays, unless it is about to end. */
export function controlPlaneCertificates(
  folder: string,
  { clock, serviceRange, addresses, admin: adminIdentity }: ControlPlaneNames,
): ControlPlaneCertificates {
  const certificates = new Certificates(folder, clock);
  const authority = certificates.authority();
  const [firstServiceIp] = serviceRange.split("/");
  const hosts = [
    "localhost",
    "127.0.0.1",
    hostname(),
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
    ...(firstServiceIp ? [firstServiceIp.replace(/0$/, "1")] : []),
    ...addresses.filter((address) => !/^0\.0\.0\.0$|^::$/.test(address)),
  ];
  const server = certificates.issue("apiserver", { commonName: "kube-apiserver", hosts: [...new Set(hosts)] });
  const clients = {
    admin: certificates.issue("admin", adminIdentity),
    "controller-manager": certificates.issue("controller-manager", identities.controllerManager),
    scheduler: certificates.issue("scheduler", identities.scheduler),
  };
  const frontProxy = new Certificates(join(folder, frontProxyFolder), clock, "front-proxy-ca");
  return {
    authority,
    server,
    clients,
    frontProxy: {
      authority: frontProxy.authority().cert,
      client: frontProxy.issue("client", { commonName: frontProxyName }),
    },
    writeKubeconfigs(context, url) {
      for (const [name, client] of Object.entries(clients))
        replaceFile(join(folder, `${name}.kubeconfig`), kubeconfig(context, url, authority.cert, client), 0o600);
    },
  };
}
