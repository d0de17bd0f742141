// Plugins that announce themselves to a kubelet by their sockets, also bad ones.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { CSINode } from "#api/storage/v1/csi-node.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Client } from "#client/client.ts";
import { CsiNodeObject } from "#kubelet/csi/csi-node.ts";
import { CsiDrivers } from "#kubelet/host/csi/csi-drivers.ts";
import { PluginFolder } from "#kubelet/host/plugins/plugin-folder.ts";
import { registrationRpcs } from "#kubelet/host/plugins/registration.ts";
import { TestDriver } from "./driver.ts";
import { serveGrpc, serving } from "./grpc-server.ts";

const patienceMs = 120_000;

async function until(isDone: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (const end = systemClock.elapsed() + patienceMs; !(await isDone()); ) {
    if (systemClock.elapsed() > end) assert.fail(`${what} did not come`);
    await systemClock.sleep(20, new AbortController().signal);
  }
}

/** A node in an API in memory, and the folder of its plugins. */
async function pluginWorld() {
  const server = await testServer();
  const folder = mkdtempSync(join(tmpdir(), "knarr-plugins-"));
  const { signal } = new AbortController();
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
  await client.create(Node, { metadata: { name: "n1", labels: { "test.dev/zone": "z1" } } });
  const drivers: TestDriver[] = [];
  /** Runs until it is told to stop. */
  const kubelet = () => {
    const stop = new AbortController();
    const node = new CsiNodeObject({ node: "n1", client, clock: systemClock });
    const known = new CsiDrivers({ node, clock: systemClock });
    const plugins = new PluginFolder({
      folder: join(folder, "plugins_registry"),
      handlers: { CSIPlugin: known },
      ready: node.initialize(stop.signal),
      clock: systemClock,
      log: silentLog,
    });
    const done = plugins.run(stop.signal).catch(() => undefined);
    return {
      known,
      async stop() {
        stop.abort(new Error("the kubelet ends"));
        await done;
        known.close();
      },
    };
  };
  return {
    folder,
    client,
    kubelet,
    async driver(name: string, more: object = {}) {
      const driver = new TestDriver({ name, kubelet: folder, data: join(folder, "data"), ...more });
      drivers.push(driver);
      await driver.start();
      return driver;
    },
    csiNode: () => client.get(CSINode, { name: "n1" }),
    async [Symbol.asyncDispose]() {
      for (const driver of drivers) driver.stop();
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

test("drivers are registered when they come, by a later kubelet too, and are told why if they are not", async () => {
  await using world = await pluginWorld();
  const early = await world.driver("early.example.com");
  const first = world.kubelet();
  await until(() => early.told.length > 0, "a word for the driver that was there before");
  const [owner] = (await world.csiNode()).metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.kind, owner?.name], ["Node", "n1"]);
  assert.match(
    (await world.csiNode()).metadata.annotations?.["storage.alpha.kubernetes.io/migrated-plugins"] ?? "",
    /^kubernetes\.io\/aws-ebs,/,
  );

  const old = await world.driver("old.example.com", { versions: ["0.3.0"] });
  const elsewhere = await world.driver("elsewhere.example.com", { topology: { "test.dev/zone": "z2" } });
  await until(() => old.told.length > 0 && elsewhere.told.length > 0, "refusals");
  assert.match(
    old.told[0]?.error ?? "",
    /^RegisterPlugin error -- plugin validation failed with err: none of the versions/,
  );
  assert.match(
    elsewhere.told[0]?.error ?? "",
    /detected topology value collision: driver reported "test\.dev\/zone":"z2"/,
  );

  mkdirSync(join(world.folder, "plugins_registry/others"));
  const socket = join(world.folder, "plugins_registry/others/reg.sock");
  const said: string[] = [];
  const stranger = await serveGrpc(socket, [
    serving(registrationRpcs.getInfo, async () => ({ type: "Coffee", name: "pot", supportedVersions: ["1"] })),
    serving(registrationRpcs.notify, async ({ error }) => {
      said.push(error);
      return {};
    }),
  ]);
  await until(() => said.length > 0, "a word for the stranger");
  stranger.forceShutdown();
  assert.equal(said[0], `RegisterPlugin error -- no handler registered for plugin type: Coffee at socket ${socket}`);
  assert.deepEqual(
    (await world.csiNode()).spec.drivers.map(({ name }) => name),
    ["early.example.com"],
  );
  await first.stop();

  const second = world.kubelet();
  await until(() => early.told.filter(({ pluginRegistered }) => pluginRegistered).length === 2, "the second kubelet");
  assert.deepEqual(second.known.names, ["early.example.com"]);
  // Its process is replaced: the same path, another socket.
  early.crash();
  await early.start();
  await until(() => early.told.filter(({ pluginRegistered }) => pluginRegistered).length === 3, "its successor");
  early.stop();
  await until(async () => (await world.csiNode()).spec.drivers.length === 0, "its end");
  assert.deepEqual(second.known.names, []);
  await second.stop();
});

test("a CSINode of a node that had the same name before is replaced", async () => {
  await using world = await pluginWorld();
  const ownerReferences = [{ apiVersion: "v1", kind: "Node", name: "n1", uid: "of-before" }];
  const drivers = [{ name: "gone.example.com", nodeID: "x", topologyKeys: [] }];
  await world.client.create(CSINode, { metadata: { name: "n1", ownerReferences }, spec: { drivers } });
  const kubelet = world.kubelet();
  const { uid } = (await world.client.get(Node, { name: "n1" })).metadata;
  await until(async () => {
    const found = await world.client.find(CSINode, { name: "n1" });
    return found?.metadata.ownerReferences?.[0]?.uid === uid && found?.spec.drivers.length === 0;
  }, "another CSINode");
  await kubelet.stop();
});
