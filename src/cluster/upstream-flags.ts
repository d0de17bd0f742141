// Flags of kube-apiserver that scripts and manifests use, and that change little or nothing here. They are parsed and validated, so that
// mistakes are found, and a warning is printed for those without effect.

import { enabledKinds } from "#apiserver/served/runtime-config.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { FlagValues } from "#cli/flags.ts";
import { changedGates } from "./feature-gates.ts";
import { kubernetesVersion } from "./version.ts";

export const upstreamFlags = {
  "feature-gates": {
    type: "strings",
    value: "NAME=true|false",
    help: "Checked, and without effect: features are as Kubernetes v1.36 has them by default",
  },
  "runtime-config": {
    type: "strings",
    value: "VERSION=true|false",
    help: "Versions (apps/v1, api/all, api/ga, api/beta, api/alpha) and resources (apps/v1/deployments) to serve or not",
  },
  "service-account-lookup": {
    type: "bool",
    default: true,
    help: "Whether tokens of service accounts are believed only while the account exists; they are in any case",
  },
  "storage-media-type": {
    type: "string",
    value: "TYPE",
    default: "application/json",
    help: "Form in which objects are stored; it is JSON in any case",
  },
  version: {
    type: "string",
    value: "VERSION",
    help: "Version to tell clients: that of the release, with a suffix such as -custom",
  },
} as const;

type UpstreamSettings = FlagValues<typeof upstreamFlags>;

const mediaTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/** Throws UsageError for values that upstream would refuse as well. */
export function checkUpstreamFlags(settings: UpstreamSettings): void {
  changedGates(settings["feature-gates"]);
  enabledKinds(settings["runtime-config"]);
  const type = settings["storage-media-type"];
  if (!mediaTypes.includes(type))
    throw new UsageError(`--storage-media-type: ${JSON.stringify(type)} is not known; use ${mediaTypes.join(", ")}`);
  const { version } = settings;
  if (version !== undefined && !isRelease(version))
    throw new UsageError(`--version: ${JSON.stringify(version)} is not ${kubernetesVersion} with a suffix`);
}

const isRelease = (version: string): boolean =>
  version === kubernetesVersion || /^[-+][0-9A-Za-z.+-]+$/.test(version.replace(kubernetesVersion, ""));

export function warnOfUpstreamFlags(settings: UpstreamSettings, log: Log): void {
  const warn = (flag: string, value: unknown) => log.warn("a flag has no effect", { flag: `--${flag}`, value });
  const gates = changedGates(settings["feature-gates"]);
  if (gates.length > 0) warn("feature-gates", gates);
  const { ignored } = enabledKinds(settings["runtime-config"]);
  if (ignored.length > 0) warn("runtime-config", ignored);
  if (!settings["service-account-lookup"]) warn("service-account-lookup", false);
  if (settings["storage-media-type"] !== mediaTypes[0]) warn("storage-media-type", settings["storage-media-type"]);
}
