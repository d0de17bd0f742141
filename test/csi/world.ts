// A node with a real containerd, the controllers that volumes need, and a storage driver of the test's own.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { PersistentVolumeClaim as Claim } from "#api/core/v1/persistent-volume-claim.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { testUser } from "#apiserver/testing.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import { runControllers } from "#client/run-controllers.ts";
import type { Draft } from "#schema/infer.ts";
import { attachDetachController } from "../../src/controllers/volumes/attach-detach.ts";
import { claimBinder } from "../../src/controllers/volumes/claim-binder.ts";
import { volumeBinder } from "../../src/controllers/volumes/volume-binder.ts";
import { MachineNode, namespace } from "../kubelet/machine-node.ts";
import { TestDriver, type TestDriverOptions } from "./driver.ts";
import { Sidecars } from "./sidecars.ts";
import { className, driverName, mountedIn } from "./volume-churn.ts";

/** Nobody shows these tokens to anyone. */
const keys = {
  sign: async (claims: object) => JSON.stringify(claims),
  claimedIssuer: () => undefined,
  verify: () => {
    throw new Error("nobody has a token");
  },
  keySet: { keys: [] },
};

export class CsiWorld implements AsyncDisposable {
  readonly node: MachineNode;
  readonly driver: TestDriver;
  readonly #sidecars: Sidecars;
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  private constructor(node: MachineNode, driver: TestDriver) {
    this.node = node;
    this.driver = driver;
    this.#sidecars = new Sidecars(this.client, { name: driver.options.name, socket: driver.socket });
    const { server } = node;
    const { signal } = this.#stop;
    const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
    const context = { client, clock: server.clock, random: seededRandom(7), log: silentLog };
    const informers = new Informers(context);
    const controllers = [claimBinder(), volumeBinder, attachDetachController()];
    const running = runControllers(controllers, { ...context, informers, clientFor: () => client });
    this.#done = supervise([informers, running], signal);
  }

  static async start(
    options: Partial<TestDriverOptions> = {},
    spec: Draft<CSIDriver>["spec"] | undefined = {},
  ): Promise<CsiWorld> {
    const node = await MachineNode.start({
      serviceAccounts: { keys, issuers: ["https://kubernetes.default.svc"], extendExpiration: false },
    });
    const { folder } = node.containerd;
    const driver = new TestDriver({
      name: driverName,
      kubelet: `${folder}/kubelet`,
      data: `${folder}/csi`,
      ...options,
    });
    await driver.start();
    const { client } = node;
    await client.create(StorageClass, {
      metadata: { name: className },
      provisioner: driverName,
      allowVolumeExpansion: true,
    });
    await client.create(ServiceAccount, { metadata: { namespace, name: "default" } });
    await client.create(CSIDriver, { metadata: { name: driverName }, spec });
    return new CsiWorld(node, driver);
  }

  get client(): Client {
    return this.node.client;
  }

  get kubeletFolder(): string {
    return `${this.node.containerd.folder}/kubelet`;
  }

  claim(name: string, spec: Partial<Draft<Claim>["spec"]> = {}): Promise<Claim> {
    return this.client.create(PersistentVolumeClaim, {
      metadata: { namespace, name },
      spec: {
        accessModes: ["ReadWriteOnce"],
        storageClassName: className,
        resources: { requests: { storage: "8Mi" } },
        ...spec,
      },
    });
  }

  /** What is mounted in the kubelet's folder by the driver, without the folder's own name. */
  mounted(): readonly string[] {
    return mountedIn(this.kubeletFolder);
  }

  /** Nothing of volumes is left: no mount, no folder, no attachment. */
  async untilClean(): Promise<void> {
    await this.node.until(
      async () => {
        const { items } = await this.client.list(VolumeAttachment);
        const inUse = (await this.node.node())?.status.volumesInUse ?? [];
        return this.mounted().length === 0 && this.leftovers().length === 0 && items.length === 0 && inUse.length === 0;
      },
      `that nothing is left: ${JSON.stringify([this.mounted(), this.leftovers()])}`,
    );
  }

  /** Notes of volumes that a kubelet has left on the disk. */
  leftovers(): readonly string[] {
    const folders = [join(this.kubeletFolder, "plugins/kubernetes.io/csi"), join(this.kubeletFolder, "pods")];
    return folders.flatMap((folder) =>
      existsSync(folder)
        ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) =>
            /vol_data|globalmount|volumeDevices\/kubernetes/.test(path),
          )
        : [],
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sidecars[Symbol.asyncDispose]();
    this.#stop.abort(new Error("the test is over"));
    await this.#done;
    await this.node.dropKubelet();
    const images = readdirSync(this.driver.options.data).filter((name) => name.endsWith(".img"));
    await this.driver.clear(images.map((name) => name.slice(0, -4)));
    await this.node[Symbol.asyncDispose]();
  }
}

export const canLoop = (): boolean => {
  try {
    execFileSync("losetup", ["-f"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
