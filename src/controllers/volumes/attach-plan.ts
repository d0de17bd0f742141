// Which volumes are to be attached to a node and which to be detached: a pure function of what the node's pods want and of what there is.
// Upstream: pkg/controller/volume/attachdetach/reconciler/reconciler.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";

/** A volume that pods of the node want to be attached. */
export interface WantedVolume {
  readonly volume: PersistentVolume;
  readonly driver: string;
  readonly handle: string;
  readonly pods: readonly Pod[];
}

export interface NodeAttachments {
  readonly node: string;
  readonly wanted: readonly WantedVolume[];
  /** Of this node. */
  readonly attachments: readonly VolumeAttachment[];
  /** Whether the node says that it has the volume mounted, by the volume's unique name. */
  isInUse(uniqueName: string): boolean;
  /** The unique name of what is attached; undefined if its volume is gone. */
  uniqueNameOf(attachment: VolumeAttachment): string | undefined;
  /** Other nodes that the volume is attached to, or is about to be. */
  othersOf(volume: PersistentVolume): readonly string[];
  /** Whether a volume may be detached although it is mounted, since nobody there can unmount it. */
  mayForce(attachment: VolumeAttachment): boolean;
}

export interface AttachPlan {
  readonly attach: readonly WantedVolume[];
  /** Wanted, but another node has it, and it can only be at one. */
  readonly blocked: readonly { readonly wanted: WantedVolume; readonly nodes: readonly string[] }[];
  readonly detach: readonly VolumeAttachment[];
  /** Not wanted any more, but mounted. */
  readonly mounted: readonly VolumeAttachment[];
  /** Unique names of volumes that the node may mount. */
  readonly attached: readonly string[];
}

/** As everybody names the attachment of a volume to a node. */
export const attachmentName = (handle: string, driver: string, node: string): string =>
  `csi-${hex(sha256(`${handle}${driver}${node}`))}`;

export const uniqueVolumeName = (driver: string, handle: string): string => `kubernetes.io/csi/${driver}^${handle}`;

export function planAttachments(facts: NodeAttachments): AttachPlan {
  const { node, wanted, attachments } = facts;
  const wantedByName = new Map(wanted.map((one) => [attachmentName(one.handle, one.driver, node), one]));
  const present = new Set(attachments.map(({ metadata }) => metadata.name));
  const missing = [...wantedByName].flatMap(([name, one]) => (present.has(name) ? [] : [one]));
  const withOthers = missing.map((one) => ({
    wanted: one,
    nodes: isShareable(one.volume) ? [] : facts.othersOf(one.volume),
  }));
  // One that is being deleted is on its way already.
  const left = attachments.filter(
    ({ metadata }) => !wantedByName.has(metadata.name) && metadata.deletionTimestamp === undefined,
  );
  const isHeld = (one: VolumeAttachment) => facts.isInUse(facts.uniqueNameOf(one) ?? "") && !facts.mayForce(one);
  return {
    attach: withOthers.filter(({ nodes }) => nodes.length === 0).map(({ wanted: one }) => one),
    blocked: withOthers.filter(({ nodes }) => nodes.length > 0),
    detach: left.filter((one) => !isHeld(one)),
    mounted: left.filter(isHeld),
    attached: attachments
      .filter((one) => one.status.attached && one.metadata.deletionTimestamp === undefined)
      .filter((one) => wantedByName.has(one.metadata.name) || isHeld(one))
      .flatMap((one) => facts.uniqueNameOf(one) ?? [])
      .toSorted(),
  };
}

/** Where no mode is given, the driver is to say. */
const isShareable = ({ spec: { accessModes = [] } }: PersistentVolume): boolean =>
  accessModes.length === 0 || accessModes.some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");

/** What a pod is told whose volume another node has. */
export function multiAttachMessage({ volume }: WantedVolume, pod: Pod, users: readonly Pod[]): string {
  const near = users.filter(({ metadata }) => metadata.namespace === pod.metadata.namespace);
  const far = users.length - near.length;
  const names = near.map(({ metadata }) => metadata.name).join(", ");
  const what =
    users.length === 0
      ? "Volume is already exclusively attached to one node and can't be attached to another"
      : near.length === 0
        ? `Volume is already used by ${far} pod(s) in different namespaces`
        : `Volume is already used by pod(s) ${names}${far > 0 ? ` and ${far} pod(s) in different namespaces` : ""}`;
  return `Multi-Attach error for volume "${volume.metadata.name}" ${what}`;
}
