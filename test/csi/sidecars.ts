// What runs beside a driver in a cluster, as small as it can be: a provisioner, an attacher and a resizer, which know the API and the driver's
// socket and nothing else.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { systemClock } from "#base/clock.ts";
import { isConflict, isNotFound, isReason } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { CriConnection, CriError } from "#kubelet/host/cri/connection.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { controllerRpcs } from "./messages.ts";

const finalizer = "test/attached";
const bytesOf = (text: string | undefined) => Number(quantityValue(parseQuantity(text ?? "0")));

export class Sidecars implements AsyncDisposable {
  readonly #client: Client;
  readonly #driver: string;
  readonly #connection: CriConnection;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(client: Client, driver: { readonly name: string; readonly socket: string }) {
    this.#client = client;
    this.#driver = driver.name;
    this.#connection = new CriConnection(`unix://${driver.socket}`, systemClock, undefined, {});
    this.#done = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the sidecars end"));
    await this.#done;
    this.#connection.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#provision();
        await this.#attach();
        await this.#grow();
      } catch (error) {
        const isPassing = isConflict(error) || isNotFound(error) || isReason(error, "AlreadyExists");
        if (!signal.aborted && !isPassing && !(error instanceof CriError)) throw error;
      }
      await systemClock.sleep(50, signal).catch(() => undefined);
    }
  }

  get #limits() {
    return { timeoutMs: 60_000, signal: this.#stop.signal };
  }

  async #provision(): Promise<void> {
    for (const claim of (await this.#client.list(PersistentVolumeClaim)).items) {
      const { storageClassName = "", volumeName, volumeMode, accessModes = [], resources } = claim.spec;
      if (volumeName || claim.metadata.deletionTimestamp || storageClassName === "") continue;
      const found = await this.#client.find(StorageClass, { name: storageClassName });
      if (found?.provisioner !== this.#driver) continue;
      const name = `pvc-${claim.metadata.uid}`;
      if (await this.#client.find(PersistentVolume, { name })) continue; // the claim is about to be bound
      const storage = resources.requests?.storage ?? "1Mi";
      const access = volumeMode === "Block" ? { block: {} } : { mount: {} };
      const { volume } = await this.#connection.call(
        controllerRpcs.create,
        { name, capacityRange: { requiredBytes: bytesOf(storage) }, volumeCapabilities: [access] },
        this.#limits,
      );
      await this.#client.create(PersistentVolume, {
        metadata: { name },
        spec: {
          capacity: { storage },
          accessModes: [...accessModes],
          volumeMode,
          storageClassName,
          persistentVolumeReclaimPolicy: "Retain",
          claimRef: { namespace: claim.metadata.namespace, name: claim.metadata.name, uid: claim.metadata.uid },
          csi: {
            driver: this.#driver,
            volumeHandle: volume?.volumeId ?? "",
            volumeAttributes: volume?.volumeContext,
            ...(volumeMode !== "Block" && { fsType: "ext4" }),
          },
        },
      });
    }
  }

  async #attach(): Promise<void> {
    for (const one of (await this.#client.list(VolumeAttachment)).items) {
      const { attacher, nodeName, source } = one.spec;
      if (attacher !== this.#driver) continue;
      const csiNode = await this.#client.find(CSINode, { name: nodeName });
      const nodeId = csiNode?.spec.drivers.find(({ name }) => name === this.#driver)?.nodeID ?? "test-node";
      const volume = await this.#client.find(PersistentVolume, { name: source.persistentVolumeName ?? "" });
      const volumeId = volume?.spec.csi?.volumeHandle ?? "";
      if (one.metadata.deletionTimestamp) {
        await this.#connection.call(controllerRpcs.detach, { volumeId, nodeId }, this.#limits);
        await this.#client.update(VolumeAttachment, { ...one, metadata: { ...one.metadata, finalizers: [] } });
      } else if (!one.status.attached) {
        const held = one.metadata.finalizers?.includes(finalizer)
          ? one
          : await this.#client.update(VolumeAttachment, {
              ...one,
              metadata: { ...one.metadata, finalizers: [finalizer] },
            });
        const { publishContext } = await this.#connection.call(
          controllerRpcs.attach,
          { volumeId, nodeId },
          this.#limits,
        );
        const status = { attached: true, attachmentMetadata: { ...publishContext } };
        await this.#client.update(VolumeAttachment, { ...held, status }, "status");
      }
    }
  }

  async #grow(): Promise<void> {
    for (const claim of (await this.#client.list(PersistentVolumeClaim)).items) {
      const { volumeName = "", resources } = claim.spec;
      const wanted = resources.requests?.storage;
      if (claim.status.phase !== "Bound" || bytesOf(wanted) <= bytesOf(claim.status.capacity?.storage)) continue;
      const volume = await this.#client.find(PersistentVolume, { name: volumeName });
      if (volume?.spec.csi?.driver !== this.#driver) continue;
      if (bytesOf(volume.spec.capacity?.storage) >= bytesOf(wanted)) continue; // the node's turn
      const range = { requiredBytes: bytesOf(wanted) };
      const { volumeHandle } = volume.spec.csi;
      await this.#connection.call(controllerRpcs.grow, { volumeId: volumeHandle, capacityRange: range }, this.#limits);
      const spec = { capacity: { storage: wanted } };
      await this.#client.patch(PersistentVolume, { name: volumeName }, "merge", { spec });
      const status = {
        allocatedResourceStatuses: { storage: "NodeResizePending" },
        allocatedResources: { storage: wanted },
        conditions: [{ type: "FileSystemResizePending", status: "True" }],
      };
      await this.#client.patch(PersistentVolumeClaim, claim.metadata, "merge", { status }, { subresource: "status" });
    }
  }
}
