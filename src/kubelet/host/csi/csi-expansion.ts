// Makes a volume larger on its node, also while pods use it: when the persistent volume has more than its claim says it has.
// Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { explain } from "#base/errors.ts";
import { compareQuantity, parseQuantity, quantityValue } from "#schema/quantity.ts";
import { type CsiVolume, capabilityOf } from "../../csi/csi-volume.ts";
import { CriError, rpcText } from "../cri/connection.ts";
import type { VolumeRequest } from "../volumes/volume-kind.ts";
import { secretTexts } from "./call-inputs.ts";
import type { CsiContext } from "./csi-context.ts";
import type { CsiDriverConnection } from "./csi-driver.ts";
import { nodeRpcs } from "./messages.ts";

interface Expansion {
  readonly volume: CsiVolume;
  readonly request: VolumeRequest;
  readonly driver: CsiDriverConnection;
  /** Where the volume is published. */
  readonly path: string;
}

/** gRPC codes of what will never succeed: InvalidArgument, NotFound, OutOfRange. */
const infeasibleCodes: readonly number[] = [3, 5, 11];

/** The caller has the volume's turn. A failure is told to the pod, and does not keep it from its volume. */
export async function expandIfWanted(expansion: Expansion, context: CsiContext): Promise<void> {
  const { volume, request } = expansion;
  const { client } = context;
  const persistent = await client.find(PersistentVolume, { name: volume.specName });
  const { name, namespace } = persistent?.spec.claimRef ?? {};
  const claim = name ? await client.find(PersistentVolumeClaim, { namespace, name }) : undefined;
  const size = persistent?.spec.capacity?.storage;
  const told = claim?.status.capacity?.storage;
  if (!claim || size === undefined || told === undefined || volume.isReadOnly) return;
  if (compareQuantity(parseQuantity(size), parseQuantity(told)) <= 0) return;
  const progress = claim.status.allocatedResourceStatuses?.storage;
  if (progress === "NodeResizeInfeasible") return; // the resizer may try another size
  try {
    await expand(expansion, size, context);
  } catch (error) {
    const why = error instanceof CriError ? rpcText(error) : explain(error);
    request.event(
      "Warning",
      "VolumeResizeFailed",
      `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.specName}" : ${why}`,
    );
    if (progress !== undefined && error instanceof CriError && infeasibleCodes.includes(error.code))
      await patchStatus(claim, { allocatedResourceStatuses: { storage: "NodeResizeInfeasible" } }, context);
    return;
  }
  const conditions = claim.status.conditions?.filter(({ type }) => !resizeConditions.includes(type)) ?? [];
  await patchStatus(
    claim,
    {
      capacity: { storage: size },
      conditions: conditions.length > 0 ? conditions : null,
      ...(progress !== undefined && { allocatedResourceStatuses: null }),
    },
    context,
  );
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.specName}" ${context.node}`;
  request.event("Normal", "FileSystemResizeSuccessful", message);
}

const resizeConditions: readonly string[] = [
  "FileSystemResizePending",
  "Resizing",
  "ControllerResizeError",
  "NodeResizeError",
];

async function expand({ volume, driver, path }: Expansion, size: string, context: CsiContext): Promise<void> {
  const { client, paths } = context;
  const isStaged = await driver.can("stageUnstage", client.signal);
  const stagingPath = volume.isBlock ? paths.stagedDevice(volume.specName) : paths.staged(volume);
  await driver.call(
    nodeRpcs.expand,
    {
      volumeId: volume.handle,
      volumePath: path,
      capacityRange: { requiredBytes: Number(quantityValue(parseQuantity(size))) },
      stagingTargetPath: isStaged ? stagingPath : "",
      volumeCapability: capabilityOf(volume, {
        knowsWriters: await driver.can("singleNodeMultiWriter", client.signal),
      }),
      secrets: await secretTexts(volume.expandSecret, context),
    },
    client.signal,
  );
}

async function patchStatus({ metadata }: PersistentVolumeClaim, status: object, { client }: CsiContext): Promise<void> {
  await client.patch(PersistentVolumeClaim, metadata, "merge", { status }, { subresource: "status" });
}
