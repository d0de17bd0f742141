// How a cluster of this machine is, as far as its folder, its process and its API tell.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { ComponentStatus } from "#api/core/v1/component-status.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import { isReady } from "#rules/conditions.ts";
import type { EtcdState } from "../etcd/etcd-state.ts";
import { kubernetesVersion } from "../version.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { isInPods } from "./control-plane-settings.ts";
import { encryptionWords } from "./encryption.ts";
import { nodeNames, readSettings, storeOf } from "./settings.ts";

export interface ClusterState {
  readonly name: string;
  readonly state: "running" | "stopped" | "failing";
  readonly folder: string;
  readonly endpoint?: string | undefined;
  readonly context: string;
  readonly kubeconfig?: string | undefined;
  readonly pid?: number;
  readonly uptimeSeconds?: number;
  readonly memoryBytes?: number | undefined;
  /** Where the manifests of its static pods are, if the control plane runs in pods. */
  readonly manifests?: string;
  readonly store: { readonly engine: string; readonly bytes?: number; readonly encryption?: string | undefined };
  readonly nodes?: readonly NodeSummary[];
  readonly pods?: Readonly<Record<string, number>>;
  readonly components?: readonly { readonly name: string; readonly healthy: boolean; readonly message: string }[];
  /** Of an etcd that was started for the cluster. */
  readonly etcd?: EtcdState | undefined;
  /** Why the API could not be asked. */
  readonly problem?: string;
}

export interface NodeSummary {
  readonly name: string;
  readonly ready: boolean;
  /** Its troubles, by its own conditions and those of others. */
  readonly problem?: string;
}

const patienceMs = 5000;

export async function stateOf(place: ClusterFolder): Promise<ClusterState> {
  place.mustExist();
  const settings = readSettings(place);
  const engine = settings ? storeOf(settings) : "embedded";
  const holder = place.process;
  const known = {
    name: place.name,
    folder: place.folder,
    endpoint: endpointOf(place),
    context: place.context,
    kubeconfig: settings?.kubeconfig,
    ...(settings && isInPods(settings) && { manifests: join(place.nodes, nodeNames(settings)[0] ?? "", "manifests") }),
    store: {
      engine,
      ...(engine === "embedded" && { bytes: sizeOf(place.store) }),
      ...(engine !== "memory" && { encryption: encryptionWords(place) }),
    },
  };
  if (!holder) return { ...known, state: "stopped" };
  const running = {
    ...known,
    pid: holder.pid,
    uptimeSeconds: Math.max(0, Math.round((systemClock.now() - holder.since) / 1000)),
    memoryBytes: memoryOf(holder.pid),
  };
  const etcd = settings?.ha ? askEtcd(place) : undefined;
  try {
    return { ...running, state: "running", ...(await askApi(place)), ...(etcd && { etcd: await etcd }) };
  } catch (error) {
    return { ...running, state: "failing", problem: explain(error), ...(etcd && { etcd: await etcd }) };
  }
}

async function askEtcd(place: ClusterFolder): Promise<EtcdState | undefined> {
  const { etcdStateOf } = await import("../etcd/etcd-state.ts"); // with gRPC
  return etcdStateOf(place, AbortSignal.timeout(2 * patienceMs)); // one member after another is asked
}

async function askApi(place: ClusterFolder) {
  const { client, close } = await connectClient({
    explicit: place.adminKubeconfig,
    env: {},
    userAgent: `knarr/${kubernetesVersion}`,
    clock: systemClock,
    signal: AbortSignal.timeout(patienceMs),
  });
  try {
    const [nodes, pods, components] = await Promise.all([nodesIn(client), podsIn(client), componentsIn(client)]);
    return { nodes, pods, components };
  } finally {
    close();
  }
}

const nodesIn = async (client: Client) => (await client.list(Node)).items.map(nodeState);

/** Conditions other than Ready are troubles when they hold. */
export function nodeState(node: Node): NodeSummary {
  const { conditions = [] } = node.status;
  const bad = conditions.filter(({ type, status }) => (type === "Ready" ? status !== "True" : status === "True"));
  const problem = bad.map(({ type, message }) => message || type).join("; ");
  return { name: node.metadata.name, ready: isReady(node), ...(problem !== "" && { problem }) };
}

const podsIn = async (client: Client) => {
  const phases: Record<string, number> = {};
  for (const { status } of (await client.list(Pod)).items) {
    const phase = status.phase ?? "Pending";
    phases[phase] = (phases[phase] ?? 0) + 1;
  }
  return phases;
};

const componentsIn = async (client: Client) =>
  (await client.list(ComponentStatus)).items.map(({ metadata, conditions = [] }) => {
    const healthy = conditions.find(({ type }) => type === "Healthy");
    return {
      name: metadata.name,
      healthy: healthy?.status === "True",
      message: healthy?.error || healthy?.message || "",
    };
  });

function endpointOf({ adminKubeconfig }: ClusterFolder): string | undefined {
  try {
    return parseKubeconfig(readFileSync(adminKubeconfig, "utf8"), adminKubeconfig).clusters[0]?.cluster.server;
  } catch {
    return undefined; // it has never served
  }
}

function sizeOf(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).blocks * 512, 0);
  } catch {
    return 0; // nothing is stored yet
  }
}

/** Undefined where the system does not tell. */
function memoryOf(pid: number): number | undefined {
  try {
    const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined; // no /proc, as on macOS
  }
}
