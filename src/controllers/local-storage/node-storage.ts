// Storage of the nodes of this process, in which the local provisioner makes volumes.

/** The provisioner of storage classes whose volumes are folders of a node. */
export const localProvisioner = "knarr.dev/local";

export interface NodeStorage {
  /** Whether something can be done on the node now. */
  isReachable(node: string): boolean;
  /** Makes the volume, if it is not there yet; resolves with its path on the node. */
  make(node: string, volume: string, bytes: number): Promise<MadeVolume>;
  /** Lets the volume grow. */
  resize(node: string, volume: string, bytes: number): Promise<void>;
  /** Removes the volume with all that is in it, if it is there. */
  remove(node: string, volume: string): Promise<void>;
}

export interface MadeVolume {
  readonly path: string;
  /** Whether no more can be written to it than its size. */
  readonly isLimited: boolean;
}

/** Of nodes that exist in memory only, as their containers do. */
export const simulatedStorage = (isReachable: (node: string) => boolean): NodeStorage => ({
  isReachable,
  make: async (node, volume) => ({ path: `/var/lib/knarr/${node}/volumes/${volume}`, isLimited: false }),
  resize: async () => undefined,
  remove: async () => undefined,
});
