import type { Lease } from "#api/coordination/v1/lease.ts";
import { nodeRoles } from "#api/core/v1/columns/node.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { ApiError } from "#base/errors.ts";
import type { RestMapping } from "../../discovery/rest-mapper.ts";
import { compareText } from "../../go/value.ts";
import { resourcePath } from "../../resources/resource-info.ts";
import { podMapping } from "../../workloads/pods.ts";
import { sortedEntries, timeText, writeEvents, writeTags } from "../common.ts";
import { type DescribeContext, type Describer, eventsOf, listAll, subjectOf, unlessRefused } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writeNodePods } from "../node-pods.ts";

const mapping = (group: string, resource: string, kind: string, isNamespaced: boolean): RestMapping => ({
  group,
  version: "v1",
  resource,
  singular: kind.toLowerCase(),
  kind,
  isNamespaced,
  verbs: [],
});
const leaseMapping = mapping("coordination.k8s.io", "leases", "Lease", true);
const sliceMapping = mapping("resource.k8s.io", "resourceslices", "ResourceSlice", false);
const poolsShown = 10;

export const describeNode: Describer<Node> = async (node, context, w) => {
  const { metadata, spec, status } = node;
  const name = metadata.name ?? "";
  const pods = await podsOn(context, name);
  // Controllers tell of the id of a node, the kubelet of its name.
  const subject = subjectOf({ ...node });
  const events = await eventsOf(context, subject);
  const more = await eventsOf(context, { ...subject, uid: name });
  const fieldSelector = `spec.nodeName=${name}`;
  const slices = await unlessRefused(
    listAll<ResourceSlice>(context, sliceMapping, "", { fieldSelector, inPages: false }),
  );
  w.line(0, "Name:", name);
  w.line(0, "Roles:", nodeRoles(node));
  writeTags(w, metadata);
  w.line(0, "CreationTimestamp:", timeText(metadata.creationTimestamp));
  const taints = (spec.taints ?? []).toSorted((a, b) => compareText(`${a.effect},${a.key}`, `${b.effect},${b.key}`));
  w.list(
    "Taints",
    taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}${effect ? `:${effect}` : ""}`),
  );
  w.line(0, "Unschedulable:", spec.unschedulable ?? false);
  await writeLease(w, context, name);
  writeConditions(w, status.conditions);
  w.line(0, "Addresses:");
  for (const { type, address } of status.addresses ?? []) w.line(1, `${type}:`, address);
  writeAmounts(w, "Capacity:", status.capacity);
  writeAmounts(w, "Allocatable:", status.allocatable);
  writeSlices(w, slices ?? []);
  writeSystem(w, node);
  if (pods) writeNodePods(w, node, pods, context.now);
  else w.line(0, "Pods:", "not authorized");
  writeEvents(w, events && [...events, ...(more ?? [])], context.now);
};

/** Undefined for people who may see nodes, but not all pods. */
async function podsOn(context: DescribeContext, name: string): Promise<readonly Pod[] | undefined> {
  const fieldSelector = `spec.nodeName=${name},status.phase!=Succeeded,status.phase!=Failed`;
  try {
    return await listAll<Pod>(context, podMapping, "", { fieldSelector });
  } catch (error) {
    if (error instanceof ApiError && error.reason === "Forbidden") return undefined;
    throw error;
  }
}

async function writeLease(w: DescriptionWriter, { client }: DescribeContext, name: string): Promise<void> {
  try {
    const path = resourcePath(leaseMapping, "kube-node-lease", name);
    const { spec = {} } = (await client.json({ path })) as unknown as Lease;
    w.line(0, "Lease:");
    w.line(1, "HolderIdentity:", spec.holderIdentity ?? "<unset>");
    w.line(1, "AcquireTime:", spec.acquireTime ? timeText(spec.acquireTime) : "<unset>");
    w.line(1, "RenewTime:", spec.renewTime ? timeText(spec.renewTime) : "<unset>");
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    w.line(0, "Lease:", `Failed to get lease: ${error.message}`);
  }
}

function writeConditions(w: DescriptionWriter, conditions: Node["status"]["conditions"] = []): void {
  if (conditions.length === 0) return;
  w.line(0, "Conditions:");
  w.line(1, "Type", "Status", "LastHeartbeatTime", "LastTransitionTime", "Reason", "Message");
  w.line(1, "----", "------", "-----------------", "------------------", "------", "-------");
  for (const { type, status, lastHeartbeatTime, lastTransitionTime, reason = "", message = "" } of conditions)
    w.line(
      1,
      `${type} `,
      `${status} `,
      `${timeText(lastHeartbeatTime)} `,
      `${timeText(lastTransitionTime)} `,
      `${reason} `,
      message,
    );
}

function writeAmounts(w: DescriptionWriter, title: string, amounts: Readonly<Record<string, string>> = {}): void {
  const entries = sortedEntries(amounts);
  if (entries.length > 0) w.line(0, title);
  for (const [name, amount] of entries) w.line(1, `${name}:`, amount);
}

/** How many devices each pool of a driver has on this node. */
function writeSlices(w: DescriptionWriter, slices: readonly ResourceSlice[]): void {
  if (slices.length === 0) return;
  const pools = Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`);
  w.line(0, "Node-Local ResourceSlices:");
  w.line(1, "Driver", "Pool", "Slices", "Devices");
  w.line(1, "------", "----", "------", "-------");
  for (const key of [...pools.keys()].sort(compareText).slice(0, poolsShown)) {
    const own = pools.get(key) ?? [];
    const devices = own.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0);
    w.line(1, own[0]?.spec.driver, own[0]?.spec.pool.name, own.length, devices);
  }
  if (pools.size > poolsShown) w.line(1, `...and ${pools.size - poolsShown} more pools`);
}

function writeSystem(w: DescriptionWriter, { spec, status }: Node): void {
  const info: Partial<NonNullable<Node["status"]["nodeInfo"]>> = status.nodeInfo ?? {};
  w.line(0, "System Info:");
  w.line(1, "Machine ID:", info.machineID ?? "");
  w.line(1, "System UUID:", info.systemUUID ?? "");
  w.line(1, "Boot ID:", info.bootID ?? "");
  w.line(1, "Kernel Version:", info.kernelVersion ?? "");
  w.line(1, "OS Image:", info.osImage ?? "");
  w.line(1, "Operating System:", info.operatingSystem ?? "");
  w.line(1, "Architecture:", info.architecture ?? "");
  w.line(1, "Container Runtime Version:", info.containerRuntimeVersion ?? "");
  w.line(1, "Kubelet Version:", info.kubeletVersion ?? "");
  if (spec.podCIDR) w.line(0, "PodCIDR:", spec.podCIDR);
  if (spec.podCIDRs?.length) w.line(0, "PodCIDRs:", spec.podCIDRs.join(","));
  if (spec.providerID) w.line(0, "ProviderID:", spec.providerID);
}
