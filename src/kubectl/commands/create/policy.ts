// Upstream: kubectl/pkg/cmd/create/create_namespace.go, create_serviceaccount.go, create_quota.go, create_pdb.go,
// create_priorityclass.go and create_ingress.go.
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import { filled, parseLabelPairs, parseResourceList } from "../../generators/generated.ts";
import type { KubeObject } from "../../rest/client.ts";
import { createGenerated, generatorFlags } from "../create-generated.ts";
import { oneName } from "./one-name.ts";

export const createNamespace = command({
  use: "namespace NAME [--dry-run=server|client|none]",
  flags: generatorFlags,
  run: async (session, _, flags, invocation) => {
    const object = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: oneName(invocation) },
      spec: {},
      status: {},
    };
    await createGenerated(session, flags, object, "");
  },
});

export const createServiceAccount = command({
  use: "serviceaccount NAME [--dry-run=server|client|none]",
  flags: generatorFlags,
  run: async (session, _, flags, invocation) => {
    const object = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: oneName(invocation) } };
    await createGenerated(session, flags, object, "failed to create serviceaccount: ");
  },
});

export const createQuota = command({
  use: "quota NAME [--hard=key1=value1,key2=value2] [--scopes=Scope1,Scope2]",
  flags: {
    ...generatorFlags,
    hard: { type: "string", help: "Limits, as cpu=1,pods=2." },
    scopes: { type: "string", help: "Scopes that objects must all be in to count." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const scopes = flags.scopes === "" ? [] : flags.scopes.split(",");
    const spec = { ...filled("hard", parseResourceList(flags.hard)), ...filled("scopes", scopes) };
    const object = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec, status: {} };
    await createGenerated(session, flags, object, "failed to create quota: ");
  },
});

export const createPodDisruptionBudget = command({
  use: "poddisruptionbudget NAME --selector=SELECTOR --min-available=N [--dry-run=server|client|none]",
  flags: {
    ...generatorFlags,
    "max-unavailable": { type: "string", help: "How many pods, or what percentage, may be missing." },
    "min-available": { type: "string", help: "How many pods, or what percentage, must be there." },
    selector: { type: "string", help: "Labels of the pods." },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const { "min-available": least, "max-unavailable": most, selector } = flags;
    if (selector === "") throw new KubectlError("a selector must be specified");
    if (least === "" && most === "")
      throw new KubectlError("one of min-available or max-unavailable must be specified");
    if (least !== "" && most !== "")
      throw new KubectlError("min-available and max-unavailable cannot be both specified");
    const spec = {
      ...(most !== "" && { maxUnavailable: amount(most, "max-unavailable") }),
      ...(least !== "" && { minAvailable: amount(least, "min-available") }),
      selector: { matchLabels: parseLabelPairs(selector) },
    };
    const status = { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 };
    const object = { apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: { name }, spec, status };
    await createGenerated(session, flags, object, "failed to create poddisruptionbudgets: ");
  },
});

function amount(text: string, flag: string): number | string {
  if (!/^[0-9]+%?$/.test(text)) throw new KubectlError(`invalid format specified for ${flag}: ${text}`);
  return text.endsWith("%") ? text : Number(text);
}

export const createPriorityClass = command({
  use: "priorityclass NAME --value=VALUE --global-default=BOOL [--dry-run=server|client|none]",
  flags: {
    ...generatorFlags,
    description: { type: "string", help: "When to use it." },
    "global-default": { type: "bool", help: "Pods that name no class have this one." },
    "preemption-policy": { type: "string", default: "PreemptLowerPriority", help: "Whether other pods have to go." },
    value: { type: "int", help: "The priority." },
  },
  run: async (session, _, flags, invocation) => {
    const object = {
      apiVersion: "scheduling.k8s.io/v1",
      ...filled("description", flags.description),
      ...(flags["global-default"] && { globalDefault: true }),
      kind: "PriorityClass",
      metadata: { name: oneName(invocation) },
      preemptionPolicy: flags["preemption-policy"],
      value: flags.value,
    };
    await createGenerated(session, flags, object, "failed to create priorityclass: ");
  },
});

const ruleSyntax =
  /^(?<host>[^/=,]*)\/(?<path>[^=,]*)=(?<service>[^:=,]+):(?<port>[^:=,]+)(?:,(?<tls>tls)(?:=(?<secret>[^,=]+))?)?$/;

export const createIngress = command({
  use: "ingress NAME --rule=host/path=service:port[,tls[=secret]]",
  flags: {
    ...generatorFlags,
    annotation: { type: "stringArray", help: "Annotation, as key=value; can be repeated." },
    class: { type: "string", help: "The class of the ingress." },
    "default-backend": { type: "string", help: "Where everything else goes, as service:port." },
    rule: {
      type: "stringArray",
      help: "Where a path goes, as host/path=service:port[,tls[=secret]]; can be repeated.",
    },
  },
  run: async (session, _, flags, invocation) => {
    const name = oneName(invocation);
    const { annotation, class: ingressClassName, "default-backend": backend, rule } = flags;
    if (backend === "" && rule.length === 0)
      throw new KubectlError(
        "not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)",
      );
    const rules = rule.map(ruleParts);
    if (backend !== "" && backend.split(":").length !== 2)
      throw new KubectlError("default-backend should be in format servicename:serviceport");
    const spec = {
      ...(backend !== "" && { defaultBackend: backendOf(...(backend.split(":") as [string, string])) }),
      ...filled("ingressClassName", ingressClassName),
      ...filled("rules", rulesByHost(rules)),
      ...filled("tls", tlsOf(rules)),
    };
    const metadata = { ...filled("annotations", annotationsOf(annotation)), name };
    const object = {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata,
      spec,
      status: { loadBalancer: {} },
    };
    await createGenerated(session, flags, object, "failed to create ingress: ");
  },
});

interface IngressRuleParts {
  readonly host: string;
  readonly path: string;
  readonly service: string;
  readonly port: string;
  readonly tls?: string;
  readonly secret?: string;
}

function ruleParts(rule: string): IngressRuleParts {
  const groups = ruleSyntax.exec(rule)?.groups;
  if (!groups)
    throw new KubectlError(`rule ${rule} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]`);
  return groups as unknown as IngressRuleParts;
}

const annotationsOf = (annotations: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    annotations.map((text) => {
      const at = text.indexOf("=");
      if (at < 0) throw new KubectlError(`annotation ${text} is invalid and should be in format key=[value]`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );

const backendOf = (name: string, port: string): KubeObject => ({
  service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } },
});

function rulesByHost(rules: readonly IngressRuleParts[]): readonly KubeObject[] {
  const pathOf = ({ path, service, port }: IngressRuleParts) => ({
    backend: backendOf(service, port),
    path: `/${path.replace(/\*$/, "")}`,
    pathType: path.endsWith("*") ? "Prefix" : "Exact",
  });
  return [...Map.groupBy(rules, ({ host }) => host)].map(([host, same]) => ({
    ...filled("host", host),
    http: { paths: same.map(pathOf) },
  }));
}

/** Hosts that share a secret stand together; a host counts once. */
function tlsOf(rules: readonly IngressRuleParts[]): readonly KubeObject[] {
  const hosts = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const { host, tls, secret = "" } of rules) {
    if (tls === undefined || seen.has(host)) continue;
    seen.add(host);
    hosts.set(secret, [...(hosts.get(secret) ?? []), ...(host === "" ? [] : [host])]);
  }
  return [...hosts]
    .map(([secret, names]) => ({ ...filled("hosts", names), ...filled("secretName", secret) }))
    .filter((one) => Object.keys(one).length > 0);
}
