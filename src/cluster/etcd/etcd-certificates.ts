// The certificates of an etcd that is started for a cluster. They have an authority of their own, as kubeadm's have: whoever has a certificate
// that it signed may read and write everything, so it signs for nobody but members and API servers.
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import type { EtcdTlsOptions } from "#store/host/etcd/transport.ts";
import { Certificates } from "../certificates.ts";

/** In the folder of the certificates. */
export const etcdFolder = "etcd";

export interface EtcdCertificateFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface EtcdCertificates {
  /** What a member shows to clients and to other members. */
  readonly member: EtcdCertificateFiles;
  /** What an API server shows. */
  readonly client: Required<EtcdTlsOptions>;
}

/** Made where they are missing or about to end; etcd reads the files anew for each connection. */
export function etcdCertificates(folder: string, addresses: readonly string[], clock: Clock): EtcdCertificates {
  const own = join(folder, etcdFolder);
  const certificates = new Certificates(own, clock, "etcd-ca");
  const { cert: ca } = certificates.authority();
  const hosts = [...new Set(["localhost", "127.0.0.1", ...addresses])];
  certificates.issue("member", { commonName: "etcd-member", hosts, isPeer: true });
  const client = certificates.issue("client", { commonName: "kube-apiserver-etcd-client" });
  const file = (name: string) => join(own, name);
  return {
    member: { ca: file("ca.crt"), cert: file("member.crt"), key: file("member.key") },
    client: { ca, ...client },
  };
}
