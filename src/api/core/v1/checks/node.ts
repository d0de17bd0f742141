// Nodes.
// Upstream: pkg/apis/core/validation/validation.go.
import { configMapKey, dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, type Problem, required } from "#schema/index.ts";
import { parseCidr } from "#schema/ip.ts";
import { internalForm } from "../../../internal-form.ts";
import { type ConfigMapNodeConfigSource, type Node, NodeAddress, type NodeConfigSource, Taint } from "../node.ts";
import { network } from "./addresses.ts";
import { taintEffect } from "./affinity.ts";
import { each, malformed, quoted, under } from "./problems.ts";
import { amount } from "./resources.ts";

export function* checkNode({ spec, status }: Node, old: Node | undefined): Iterable<Problem> {
  // Upstream looks for taints in the metadata, and twice in updates.
  yield* checkTaints("metadata.taints", spec.taints);
  if (old) yield* checkTaints("metadata.taints", spec.taints);
  for (const list of ["capacity", "allocatable"] as const)
    for (const [name, value] of Object.entries(status[list] ?? {}))
      yield* amount(`status.${list}.${name}`, name, value);
  const swap = status.nodeInfo.swap?.capacity;
  if (swap !== undefined && swap <= 0)
    yield invalid("metadata.nodeSwapStatus.capacity", "must be greater than zero", swap);
  yield* checkFeatures(status.declaredFeatures);
  yield* checkPodNetworks(spec.podCIDRs);
}

function* checkTaints(path: string, taints: readonly Taint[] | undefined): Iterable<Problem> {
  const seen = new Set<string>();
  for (const [at, taint] of each(path, taints)) {
    const { key, value = "", effect } = taint;
    yield* malformed(`${at}.key`, key, qualifiedName);
    const messages = labelValue(value);
    if (messages.length > 0) yield invalid(`${at}.value`, messages.join(";"), value);
    yield* taintEffect(`${at}.effect`, effect);
    if (seen.has(`${effect}/${key}`))
      yield { ...duplicate(at, internalForm(Taint, taint)), detail: "taints must be unique by key and effect pair" };
    seen.add(`${effect}/${key}`);
  }
}

function* checkPodNetworks(networks: readonly string[] = []): Iterable<Problem> {
  for (const [at, cidr] of each("spec.podCIDRs", networks)) yield* network(at, cidr);
  if (networks.length < 2) return;
  const families = new Set(networks.map((cidr) => parseCidr(cidr)?.address.family));
  if (families.size < 2 || networks.length > 2)
    yield invalid("spec.podCIDRs", "may specify no more than one CIDR for each IP family");
}

const featurePattern = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const mostFeatureBytes = 253;

function* checkFeatures(features: readonly string[] = []): Iterable<Problem> {
  for (const [index, feature] of features.entries()) {
    const at = `status.declaredFeatures[${index}]`;
    const before = features[index - 1];
    if (feature.length > mostFeatureBytes)
      yield invalid(at, `invalid feature name ${quoted(feature)}: must be no more than ${mostFeatureBytes} characters`);
    else if (!featurePattern.test(feature))
      yield invalid(
        at,
        `invalid feature name ${quoted(feature)}: must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes`,
      );
    if (before === feature) yield duplicate(at);
    else if (before !== undefined && before > feature) yield invalid(at, "list must be sorted alphabetically");
  }
}

export function* checkNodeUpdate({ spec, status }: Node, { spec: old }: Node): Iterable<Problem> {
  const addresses = new Set<string>();
  for (const [at, one] of each("status.addresses", status.addresses)) {
    const key = JSON.stringify([one.type, one.address]);
    if (addresses.has(key)) yield duplicate(at, internalForm(NodeAddress, one));
    addresses.add(key);
  }
  const networks = old.podCIDRs ?? [];
  if (networks.length > 0 && JSON.stringify(networks) !== JSON.stringify(spec.podCIDRs ?? []))
    yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid');
  if (old.providerID && old.providerID !== spec.providerID)
    yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid');
  if ((old.externalID ?? "") !== (spec.externalID ?? "")) yield forbidden("spec.externalID", "may not be updated");
  if (spec.configSource) yield* under("spec.configSource", checkConfigSource(spec.configSource, false));
  for (const name of ["assigned", "active", "lastKnownGood"] as const) {
    const source = status.config?.[name];
    if (source) yield* under(`status.config.${name}`, checkConfigSource(source, true));
  }
}

function* checkConfigSource(source: NodeConfigSource, inStatus: boolean): Iterable<Problem> {
  if (!source.configMap) yield invalid("", "exactly one reference subfield must be non-nil", source);
  else yield* under("configMap", checkConfigMapSource(source.configMap, inStatus));
}

function* checkConfigMapSource(source: ConfigMapNodeConfigSource, inStatus: boolean): Iterable<Problem> {
  for (const name of ["uid", "resourceVersion"] as const) {
    if (inStatus && !source[name]) yield required(name);
    if (!inStatus && source[name]) yield forbidden(name, `${name} must not be set in spec`);
  }
  const formats = { namespace: dns1123Label, name: dns1123Subdomain, kubeletConfigKey: configMapKey } as const;
  for (const name of ["namespace", "name", "kubeletConfigKey"] as const) {
    if (source[name] === "") yield required(name);
    else yield* malformed(name, source[name], formats[name]);
  }
}
