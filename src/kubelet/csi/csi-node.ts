// What the API is told about the storage drivers of a node: its CSINode, which there is from the beginning, and the node's own annotation and
// labels.
// Upstream: pkg/volume/csi/nodeinfomanager/nodeinfomanager.go.
import { Node } from "#api/core/v1/node.ts";
import { CSINode, type CSINodeDriver } from "#api/storage/v1/csi-node.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { isConflict, isNotFound, isReason } from "#base/errors.ts";
import { retry } from "#base/retry.ts";
import type { Client } from "#client/client.ts";
import { migratedDrivers } from "#rules/csi-migration.ts";
import { parseJson } from "#schema/json.ts";

export const nodeIdAnnotation = "csi.volume.kubernetes.io/nodeid";
const migratedAnnotation = "storage.alpha.kubernetes.io/migrated-plugins";
const attempts = { firstMs: 50, maxMs: 5000, tries: 6 };
const mostVolumes = 2 ** 31 - 1;

/** What a driver says about itself on this node. */
export interface DriverOnNode {
  readonly name: string;
  readonly nodeId: string;
  /** 0 if there is no limit. */
  readonly maxVolumes: number;
  readonly topology: Readonly<Record<string, string>>;
}

export class CsiNodeObject {
  readonly #options: { readonly node: string; readonly client: Client; readonly clock: Clock };
  /** Writers take turns. */
  #last: Promise<void> = Promise.resolve();

  constructor(options: { readonly node: string; readonly client: Client; readonly clock: Clock }) {
    this.#options = options;
  }

  /** Makes the CSINode if it is missing. The node must be there. */
  initialize(signal: AbortSignal): Promise<void> {
    return this.#inTurn(async (api) => void (await this.#ensure(api)), signal);
  }

  install(driver: DriverOnNode, signal: AbortSignal): Promise<void> {
    return this.#inTurn(async (api) => {
      await this.#tellNode(api, driver);
      const { nodeId, maxVolumes, topology } = driver;
      await this.#changeDrivers(api, (drivers) => {
        const entry: CSINodeDriver = {
          name: driver.name,
          nodeID: nodeId,
          topologyKeys: Object.keys(topology).toSorted(),
          ...(maxVolumes > 0 && { allocatable: { count: Math.min(maxVolumes, mostVolumes) } }),
        };
        const present = drivers.find(({ name }) => name === driver.name);
        return equal(present, entry) ? drivers : [...drivers.filter((one) => one !== present), entry];
      });
    }, signal);
  }

  uninstall(driver: string, signal: AbortSignal): Promise<void> {
    return this.#inTurn(async (api) => {
      await this.#changeDrivers(api, (drivers) => drivers.filter(({ name }) => name !== driver));
      const node = await api.get(Node, this.#place);
      const { [driver]: known, ...ids } = nodeIds(node);
      if (known === undefined) return;
      const value = Object.keys(ids).length === 0 ? null : JSON.stringify(ids);
      await this.#patchNode(api, { annotations: { [nodeIdAnnotation]: value } });
    }, signal);
  }

  get #place() {
    return { name: this.#options.node };
  }

  #inTurn(work: (api: Client) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const when = (error: unknown) =>
      isConflict(error) || isNotFound(error) || isReason(error, "AlreadyExists") || error instanceof NotOurs;
    const run = () => retry((stop) => work(client.bound({ signal: stop })), { ...attempts, clock, when }, signal);
    const done = this.#last.then(run, run);
    this.#last = done;
    return done;
  }

  async #tellNode(api: Client, { name, nodeId, topology }: DriverOnNode): Promise<void> {
    if (nodeId === "") throw new Error("error adding CSI driver node info: driverNodeID must not be empty");
    const node = await api.get(Node, this.#place);
    const ids = nodeIds(node);
    const labels = node.metadata.labels ?? {};
    for (const [key, value] of Object.entries(topology))
      if (labels[key] !== undefined && labels[key] !== value)
        throw new Error(
          `detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${labels[key]}"`,
        );
    const hasLabels = Object.keys(topology).every((key) => labels[key] !== undefined);
    if (ids[name] === nodeId && hasLabels) return;
    const annotations = { [nodeIdAnnotation]: JSON.stringify(sorted({ ...ids, [name]: nodeId })) };
    await this.#patchNode(api, { annotations, labels: topology });
  }

  /** Through the status, as upstream's kubelet does: a node may change both there. */
  async #patchNode(api: Client, metadata: object): Promise<void> {
    await api.patch(Node, this.#place, "strategic", { metadata }, { subresource: "status" });
  }

  async #changeDrivers(
    api: Client,
    change: (drivers: readonly CSINodeDriver[]) => readonly CSINodeDriver[],
  ): Promise<void> {
    const found = await this.#ensure(api);
    const drivers = change(found.spec.drivers);
    if (drivers.length === found.spec.drivers.length && drivers.every((one, i) => one === found.spec.drivers[i]))
      return;
    await api.update(CSINode, { ...found, spec: { ...found.spec, drivers: [...drivers] } });
  }

  /** The CSINode of this node, and not of one that had its name before. */
  async #ensure(api: Client): Promise<CSINode> {
    const { name } = this.#place;
    const { uid = "" } = (await api.get(Node, { name })).metadata;
    const found = await api.find(CSINode, { name });
    const annotations = { [migratedAnnotation]: migratedDrivers.join(",") };
    if (!found) {
      const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
      return api.create(CSINode, { metadata: { name, annotations, ownerReferences }, spec: { drivers: [] } });
    }
    if (!found.metadata.ownerReferences?.some((owner) => owner.kind === "Node" && owner.uid === uid)) {
      await api.delete(CSINode, { name });
      throw new NotOurs(`CSINode "${name}" was owned by another node of that name; it is deleted`);
    }
    if (found.metadata.annotations?.[migratedAnnotation] === annotations[migratedAnnotation]) return found;
    return api.patch(CSINode, { name }, "merge", { metadata: { annotations } });
  }
}

class NotOurs extends Error {
  override readonly name = "NotOurs";
}

function nodeIds({ metadata }: Node): Readonly<Record<string, string>> {
  const text = metadata.annotations?.[nodeIdAnnotation];
  if (!text) return {};
  const { value } = parseJson(text);
  if (typeof value !== "object" || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([driver, id]) => [driver, String(id)]));
}

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
