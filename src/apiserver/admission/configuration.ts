// Which plugins run, and how they are set: from the flags and from the file they name.
// Upstream: pkg/kubeapiserver/options/admission.go and staging/src/k8s.io/apiserver/pkg/server/options/admission.go.
import { UsageError } from "#base/errors.ts";
import type { Admission } from "../registry/admission.ts";
import type { CredentialsOf } from "../webhook/client.ts";
import { admissionChain } from "./chain.ts";
import type { TolerationSeconds } from "./default-toleration-seconds.ts";
import type { EventLimit } from "./event-rate-limit.ts";
import type { ImagePolicyConfiguration } from "./image-policy.ts";
import type { InitialResourcesConfiguration } from "./initial-resources/initial-resources.ts";
import { allPlugins } from "./list.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import type { PodNodeSelectorConfiguration } from "./pod-node-selector.ts";
import type { PodSecurityConfiguration } from "./pod-security/pod-security.ts";
import type { PodTolerationConfiguration } from "./pod-toleration-restriction.ts";
import type { ResourceQuotaConfiguration } from "./quota/resource-quota.ts";
import type { AdmissionServer } from "./server.ts";

export interface AdmissionConfiguration {
  readonly tolerationSeconds: TolerationSeconds;
  readonly podSecurity: PodSecurityConfiguration;
  readonly resourceQuota: ResourceQuotaConfiguration;
  readonly podNodeSelector: PodNodeSelectorConfiguration;
  readonly podTolerations: PodTolerationConfiguration;
  readonly eventLimits: readonly EventLimit[];
  /** Who the server is to webhooks; nobody by default. */
  readonly mutatingWebhookCredentials?: CredentialsOf | undefined;
  readonly validatingWebhookCredentials?: CredentialsOf | undefined;
  /** Without it every pod is refused that ImagePolicyWebhook is asked about. */
  readonly imagePolicy: ImagePolicyConfiguration | undefined;
  readonly initialResources: InitialResourcesConfiguration;
}

const privileged = { level: "privileged", minor: "latest" } as const;

const usualConfiguration: AdmissionConfiguration = {
  tolerationSeconds: { notReady: 300, unreachable: 300 },
  podSecurity: {
    defaults: { enforce: privileged, audit: privileged, warn: privileged },
    exemptions: { usernames: [], namespaces: [], runtimeClasses: [] },
  },
  resourceQuota: { limitedResources: [] },
  podNodeSelector: { clusterDefault: "", whitelists: {} },
  podTolerations: { defaults: [], whitelist: [] },
  eventLimits: [],
  imagePolicy: undefined,
  initialResources: { percentile: 90, isNamespaceOnly: false },
};

export interface AdmissionSettings extends Partial<AdmissionConfiguration> {
  /** Plugins to run besides those that run anyway. */
  readonly enable?: readonly string[];
  readonly disable?: readonly string[];
}

/** The plugins that settings ask for, in order. Throws UsageError for a name that is unknown, or asked for and refused. */
export function pluginsOf({ enable = [], disable = [], ...given }: AdmissionSettings): readonly AdmissionPlugin[] {
  const known = new Set(allPlugins.map(({ name }) => name));
  for (const [flag, names] of [
    ["enable-admission-plugins", enable],
    ["disable-admission-plugins", disable],
  ] as const)
    for (const name of names)
      if (!known.has(name)) throw new UsageError(`--${flag}: ${JSON.stringify(name)} is not an admission plugin`);
  const both = enable.filter((name) => disable.includes(name));
  if (both.length > 0)
    throw new UsageError(`${both.join(", ")} in enable-admission-plugins and disable-admission-plugins overlapped`);
  const configuration = { ...usualConfiguration, ...given };
  return allPlugins
    .filter(({ name, on }) => (on || enable.includes(name)) && !disable.includes(name))
    .map(({ make }) => make(configuration));
}

/** What `assembleApiServer` takes: the chain that settings ask for, once there is a server to read from. */
export function admissionOf(settings: AdmissionSettings): (server: AdmissionServer) => Admission {
  const plugins = pluginsOf(settings);
  return (server) => admissionChain(plugins, server);
}
