import { UsageError } from "#base/errors.ts";

/** Something that is deployed by manifests, and runs as pods. */
export interface Addon {
  readonly name: string;
  readonly short: string;
  /** Its manifests: a file of the folder `manifests`. */
  readonly manifest: string;
  /** Definitions of kinds, applied before the manifests. They stay when it is disabled: to delete one would delete people's objects. */
  readonly definitions?: readonly string[];
  /** The images it runs, by the name that its manifests have for each. */
  readonly images: Readonly<Record<string, string>>;
  /** Whether a cluster begins with it. */
  readonly isDefault: boolean;
}

/** Adding one is a manifest and an entry here. */
export const addons: readonly Addon[] = [
  {
    name: "dns",
    short: "Names of services and pods, answered by pods behind the service kube-dns",
    manifest: "dns.yaml",
    images: { dnsImage: "dns" },
    isDefault: true,
  },
  {
    name: "ingress",
    short: "Ingresses of the class haproxy, served by a HAProxy behind a load balancer",
    manifest: "ingress.yaml",
    images: { ingressImage: "ingress" },
    isDefault: false,
  },
  {
    name: "gateway",
    short: "Gateways of the class haproxy (Gateway API), each behind a load balancer of its own",
    manifest: "gateway.yaml",
    definitions: ["gatewayclasses", "gateways", "httproutes", "grpcroutes", "tlsroutes", "referencegrants"].map(
      (plural) => `gateway-api/${plural}.yaml`,
    ),
    images: { gatewayImage: "gateway" },
    isDefault: false,
  },
  {
    name: "logs",
    short: 'What all containers wrote, kept also when they are gone, and searched by "knarr logs"',
    manifest: "logs.yaml",
    images: { logsImage: "logs" },
    isDefault: false,
  },
];

export const defaultAddons: readonly string[] = addons.filter(({ isDefault }) => isDefault).map(({ name }) => name);

/** Throws UsageError that says which there are. */
export function addonNamed(name: string): Addon {
  const found = addons.find((one) => one.name === name);
  if (found) return found;
  throw new UsageError(
    `there is no add-on ${JSON.stringify(name)}; there is ${addons.map((one) => one.name).join(", ")}`,
  );
}

/** Where a cluster says which add-ons it has: a key for each, with `enabled` or `disabled`. */
export const addonsConfigMap = { namespace: "kube-system", name: "addons" };
