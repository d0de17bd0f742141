// The certificates of an API server that stands alone, followed while it serves.
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { type Log, silentLog } from "#base/log.ts";
import type { FlagValues } from "#cli/flags.ts";
import type { FrontCertificates } from "#serving/host/https/front.ts";
import { type FrontProxy, frontProxyBy, type frontProxyFlags, trusting } from "./front-proxy.ts";
import { type KubeletTrust, kubeletTrustBy, type kubeletTrustFlags } from "./kubelet-trust.ts";
import { LiveCertificates } from "./live-certificates.ts";
import { type NamedCertificate, namedCertificates, namedFilePaths, type serverNameFlags } from "./server-names.ts";
import {
  type CertificateFlags,
  certificateFolder,
  type ServingCertificates,
  servingCertificates,
} from "./serving-certificates.ts";

export interface ServerCertificates extends ServingCertificates {
  readonly proxy: FrontProxy;
  /** For those who ask for one of their names. */
  readonly named: readonly NamedCertificate[];
  /** Who this server is to kubelets, and whose kubelets it believes. */
  readonly kubelet: KubeletTrust;
}

type ServerCertificateSettings = CertificateFlags &
  FlagValues<typeof frontProxyFlags & typeof serverNameFlags & typeof kubeletTrustFlags>;

/** Throws UsageError for flags that cannot be used. */
export function serverCertificates(
  settings: ServerCertificateSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): LiveCertificates<ServerCertificates> {
  let warned = log; // what is odd about the flags is told once
  const read = (): ServerCertificates => {
    const serving = servingCertificates(settings);
    const proxy = frontProxyBy(settings, serving.frontProxy, warned);
    warned = silentLog;
    return { ...serving, proxy, named: namedCertificates(settings), kubelet: kubeletTrustBy(settings) };
  };
  return new LiveCertificates({ read, files: filesOf(settings), clock, log });
}

/** What a front takes of them. */
export const frontCertificates = ({ cert, key, clientCa, proxy }: ServerCertificates): FrontCertificates => ({
  cert,
  key,
  clientCa,
  otherClientCas: trusting(proxy.trust).otherClientCas,
});

function filesOf(settings: ServerCertificateSettings): readonly string[] {
  const given = [
    settings["tls-cert-file"],
    settings["tls-private-key-file"],
    settings["client-ca-file"],
    settings["requestheader-client-ca-file"],
    settings["proxy-client-cert-file"],
    settings["proxy-client-key-file"],
    settings["kubelet-client-certificate"],
    settings["kubelet-client-key"],
    settings["kubelet-certificate-authority"],
    ...namedFilePaths(settings),
  ].filter((file) => file !== undefined);
  const folder = settings["tls-cert-file"] === undefined ? certificateFolder(settings) : undefined;
  return folder === undefined ? given : [...given, join(folder, "apiserver.crt")];
}
