// Which claims drivers have prepared on this node, for which pods: kept in a file, so that the next kubelet has them taken back.
// Upstream: pkg/kubelet/cm/dra/state/state_checkpoint.go.
import { CheckpointFile } from "../checkpoint-file.ts";

export interface PreparedDeviceRecord {
  readonly driver: string;
  readonly requests: readonly string[];
  readonly cdiIds: readonly string[];
  /** Which device of the driver it is; unknown in files of before. */
  readonly pool?: string;
  readonly device?: string;
}

export interface PreparedClaim {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** Drivers that were asked to prepare it, whether they did or not. */
  readonly drivers: readonly string[];
  readonly pods: readonly string[];
  /** Undefined until all drivers have prepared it. */
  readonly devices?: readonly PreparedDeviceRecord[] | undefined;
}

export class PreparedClaims {
  readonly #file: CheckpointFile<readonly PreparedClaim[]>;
  #claims: Promise<Map<string, PreparedClaim>> | undefined;
  /** The same once it has been read, for those who cannot wait. */
  #known: ReadonlyMap<string, PreparedClaim> = new Map();

  constructor(path: string) {
    this.#file = new CheckpointFile(path);
  }

  async get(uid: string): Promise<PreparedClaim | undefined> {
    return (await this.#all()).get(uid);
  }

  async list(): Promise<readonly PreparedClaim[]> {
    return [...(await this.#all()).values()];
  }

  get known(): readonly PreparedClaim[] {
    return [...this.#known.values()];
  }

  /** Resolves when it is on the disk. */
  async set(claim: PreparedClaim): Promise<void> {
    const claims = await this.#all();
    claims.set(claim.uid, claim);
    await this.#file.write([...claims.values()]);
  }

  async delete(uid: string): Promise<void> {
    const claims = await this.#all();
    if (claims.delete(uid)) await this.#file.write([...claims.values()]);
  }

  #all(): Promise<Map<string, PreparedClaim>> {
    this.#claims ??= this.#file.read().then((claims = []) => {
      const byUid = new Map(claims.map((claim) => [claim.uid, claim]));
      this.#known = byUid;
      return byUid;
    });
    return this.#claims;
  }
}
