// Who the API server is to kubelets, and whose kubelets it believes, by upstream's flags.
import type { KubeletConnectionOptions } from "#apiserver/host/kubelet-connection.ts";
import { UsageError } from "#base/errors.ts";
import type { FlagValues } from "#cli/flags.ts";
import { asText, flagFile } from "#cli/host/flag-file.ts";

export const kubeletTrustFlags = {
  "kubelet-client-certificate": { type: "string", value: "FILE", help: "Certificate to show to kubelets" },
  "kubelet-client-key": { type: "string", value: "FILE", help: "Key of that certificate" },
  "kubelet-certificate-authority": {
    type: "string",
    value: "FILE",
    help: "Authority of the kubelets' certificates; without it any is believed",
  },
} as const;

export type KubeletTrust = Pick<KubeletConnectionOptions, "cert" | "key" | "ca">;

/** Reads the files anew. Throws UsageError. */
export function kubeletTrustBy(settings: FlagValues<typeof kubeletTrustFlags>): KubeletTrust {
  const read = (name: keyof typeof kubeletTrustFlags) => {
    const file = settings[name];
    return file === undefined ? undefined : flagFile(name, file, asText);
  };
  const [cert, key] = [read("kubelet-client-certificate"), read("kubelet-client-key")];
  const ca = read("kubelet-certificate-authority");
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--kubelet-client-certificate and --kubelet-client-key belong together");
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
  };
}
