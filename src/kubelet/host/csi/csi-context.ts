import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Client } from "#client/client.ts";
import type { VolumesInUse } from "../../csi/volumes-in-use.ts";
import type { AccountTokens } from "../../inputs/account-tokens.ts";
import type { Turns } from "../../turns.ts";
import type { CsiDrivers } from "./csi-drivers.ts";
import type { CsiPaths } from "./volume-data.ts";

/** What all work on volumes of storage drivers shares. */
export interface CsiContext {
  /** The name of this node. */
  readonly node: string;
  /** Acts as the node. Its signal ends all calls. */
  readonly client: Client;
  readonly drivers: CsiDrivers;
  readonly paths: CsiPaths;
  /** What the API says about a driver. */
  readonly described: (driver: string) => Promise<CSIDriver | undefined>;
  readonly tokens: AccountTokens;
  readonly inUse: VolumesInUse;
  /** By driver and handle: drivers need not bear two calls for one volume at once. */
  readonly turns: Turns;
  readonly clock: Clock;
  readonly log: Log;
}
