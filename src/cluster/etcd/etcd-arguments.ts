import type { EtcdCertificateFiles } from "./etcd-certificates.ts";
import { clientUrl, type EtcdMemberSettings, peerUrl } from "./member-settings.ts";

export interface EtcdArgumentsOptions {
  readonly member: EtcdMemberSettings;
  readonly certificates: EtcdCertificateFiles;
  /** Of its data. */
  readonly folder: string;
  /** Whether it becomes the only member, with the data that it has. */
  readonly forgetsOthers?: boolean;
}

/** The command line of a member, without the name of the program. */
export function etcdArguments(options: EtcdArgumentsOptions): readonly string[] {
  const { member, certificates, folder, forgetsOthers = false } = options;
  const [client, peer] = [clientUrl(member), peerUrl(member)];
  const { ca, cert, key } = certificates;
  const isFirst = member.initialCluster === "";
  return [
    `--name=${member.name}`,
    `--data-dir=${folder}`,
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=${isFirst ? `${member.name}=${peer}` : member.initialCluster}`,
    `--initial-cluster-state=${isFirst ? "new" : "existing"}`,
    `--cert-file=${cert}`,
    `--key-file=${key}`,
    `--trusted-ca-file=${ca}`,
    "--client-cert-auth",
    `--peer-cert-file=${cert}`,
    `--peer-key-file=${key}`,
    `--peer-trusted-ca-file=${ca}`,
    "--peer-client-cert-auth",
    "--quota-backend-bytes=8589934592",
    "--max-request-bytes=4194304",
    "--snapshot-count=10000",
    ...(forgetsOthers ? ["--force-new-cluster"] : []),
    "--logger=zap",
    "--log-level=warn",
  ];
}
