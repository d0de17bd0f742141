// Where the clusters of this machine are: a folder for each, with its settings, certificates, store and log.
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { UsageError } from "#base/errors.ts";
import { type FolderHolder, holderOf } from "#base/host/folder-lock.ts";
import type { FlagValues } from "#cli/flags.ts";
import { dns1123Label } from "#schema/formats.ts";

export const placeFlags = {
  name: { type: "string", default: "knarr", help: "Name of the cluster" },
  "data-dir": {
    type: "string",
    value: "FOLDER",
    help: "Where clusters keep their state; /var/lib/knarr for root, ~/.local/share/knarr for others",
  },
} as const;

/** A cluster is in `<root>/<name>`. */
export class ClusterFolder {
  readonly name: string;
  readonly root: string;

  constructor(settings: FlagValues<typeof placeFlags>) {
    this.name = settings.name;
    this.root = resolve(settings["data-dir"] ?? process.env.KNARR_DATA_DIR ?? usualRoot());
    const [problem] = [...dns1123Label(settings.name)];
    if (problem !== undefined) throw new UsageError(`--name: ${JSON.stringify(settings.name)}: ${problem}`);
  }

  get folder(): string {
    return join(this.root, this.name);
  }
  get settings(): string {
    return join(this.folder, "settings.json");
  }
  get certificates(): string {
    return join(this.folder, "pki");
  }
  get store(): string {
    return join(this.folder, "store");
  }
  /** How its store is encrypted, with the key. */
  get encryption(): string {
    return join(this.folder, "encryption.yaml");
  }
  get log(): string {
    return join(this.folder, "knarr.log");
  }
  /** For what does not outlive a boot. */
  get runFolder(): string {
    return join("/run/knarr", this.name);
  }
  /** Images that all clusters share; no cluster has such a name. */
  get imageCache(): string {
    return join(this.root, ".images");
  }
  /** What its nodes keep. */
  get nodes(): string {
    return join(this.folder, "nodes");
  }
  /** Images that were loaded into it. */
  get images(): string {
    return join(this.folder, "images");
  }
  get adminKubeconfig(): string {
    return join(this.certificates, "admin.kubeconfig");
  }
  /** Its name in kubeconfigs. */
  get context(): string {
    return `knarr-${this.name}`;
  }

  /** Whether there is such a cluster, running or not. */
  get exists(): boolean {
    return existsSync(this.settings);
  }

  /** The process that runs it now, if one does. */
  get process(): FolderHolder | undefined {
    return existsSync(this.folder) ? holderOf(this.folder, processLock) : undefined;
  }

  /** Throws an error that says which clusters there are. */
  mustExist(): void {
    if (!this.exists) throw new Error(`there is no cluster ${JSON.stringify(this.name)}${others(this.root)}`);
  }
}

/** The lock that the process of a cluster holds on its folder. */
export const processLock = "process";

function others(root: string): string {
  const names = existsSync(root)
    ? readdirSync(root).filter((name) => existsSync(join(root, name, "settings.json")))
    : [];
  return names.length === 0
    ? ' here; "knarr up" starts one'
    : `; there is ${names.map((name) => `--name=${name}`).join(", ")}`;
}

const usualRoot = (): string =>
  process.getuid?.() === 0
    ? "/var/lib/knarr"
    : join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "knarr");
