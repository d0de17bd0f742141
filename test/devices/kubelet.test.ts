// The kubelet's side of devices: a driver of the test's own, real gRPC over sockets, and kubelets that end at any moment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Client } from "#client/client.ts";
import { DeviceDrivers } from "#kubelet/host/devices/device-drivers.ts";
import { DeviceSlices } from "#kubelet/host/devices/device-slices.ts";
import { PodDevices } from "#kubelet/host/devices/pod-devices.ts";
import { PreparedClaims } from "#kubelet/host/devices/prepared-claims.ts";
import { PluginFolder } from "#kubelet/host/plugins/plugin-folder.ts";
import { TestDeviceDriver } from "./driver.ts";
import { haveClaim, haveSlice, namespace, wanting } from "./objects.ts";

const { signal } = new AbortController();
const name = "gpu.example.com";
const patienceMs = 120_000;

async function until(isDone: () => boolean, what: string): Promise<void> {
  for (const end = systemClock.elapsed() + patienceMs; !isDone(); ) {
    if (systemClock.elapsed() > end) assert.fail(`${what} did not come`);
    await systemClock.sleep(20, signal);
  }
}

async function deviceWorld(driverVersions?: readonly string[]) {
  const server = await testServer();
  const folder = mkdtempSync(join(tmpdir(), "knarr-devices-"));
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "test/1", signal });
  const driver = new TestDeviceDriver(name, folder, driverVersions);
  await driver.start();
  const ends: (() => Promise<void>)[] = [];
  return {
    client,
    driver,
    /** A kubelet of its own memory, on the disk of the one before. */
    async kubelet() {
      const stop = new AbortController();
      const drivers = new DeviceDrivers(systemClock);
      const plugins = new PluginFolder({
        folder: join(folder, "plugins_registry"),
        handlers: { DRAPlugin: drivers },
        ready: Promise.resolve(),
        clock: systemClock,
        log: silentLog,
      });
      const done = plugins.run(stop.signal).catch(() => undefined);
      const before = driver.statuses.length;
      await until(() => driver.statuses.length > before, "the registration");
      const end = async () => {
        stop.abort(new Error("the kubelet ends"));
        await done;
        drivers.close();
      };
      ends.push(end);
      const prepared = new PreparedClaims(join(folder, "dra_manager_state"));
      return { devices: new PodDevices({ client, drivers, prepared }), end };
    },
    /** A pod that may use a claim with devices. */
    async pod(podName: string, claimName: string): Promise<Pod> {
      const pod = await client.create(Pod, {
        ...wanting({ claim: claimName }),
        metadata: { name: podName, namespace },
      });
      const claim = await client.get(ResourceClaim, { namespace, name: claimName });
      const results = [{ request: "gpu", driver: name, pool: "n1", device: "gpu-0" }];
      const reservedFor = [
        ...(claim.status.reservedFor ?? []),
        { resource: "pods", name: podName, uid: pod.metadata.uid ?? "" },
      ];
      const status = { ...claim.status, allocation: claim.status.allocation ?? { devices: { results } }, reservedFor };
      await client.update(ResourceClaim, { ...claim, status }, "status");
      return pod;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
      driver.stop();
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
const containerOf = ({ spec }: Pod, request?: string) => {
  const [container] = spec.containers;
  if (!container) throw new Error("a pod has a container");
  return {
    ...container,
    resources: { ...container.resources, claims: [{ name: "gpu", ...(request && { request }) }] },
  };
};

test("a driver that speaks no version of ours is told so", async () => {
  await using world = await deviceWorld(["v1alpha4"]);
  await world.kubelet();
  assert.equal(world.driver.statuses[0]?.pluginRegistered, false);
  assert.match(world.driver.statuses[0]?.error ?? "", /v1\.DRAPlugin/);
});

test("a claim is prepared once for all its pods, and taken back after the last", async () => {
  await using world = await deviceWorld();
  const { devices } = await world.kubelet();
  await haveClaim(world.client, "mine");
  const [p, q] = [await world.pod("p", "mine"), await world.pod("q", "mine")];
  await devices.prepare(p, signal);
  await devices.prepare(p, signal);
  await devices.prepare(q, signal);
  assert.deepEqual(world.driver.calls, ["prepare mine"]);
  assert.deepEqual(await devices.cdiDevices(p, containerOf(p)), [`${name}/device=mine-gpu`, `${name}/device=mine-nic`]);
  assert.deepEqual(await devices.cdiDevices(q, containerOf(q, "nic")), [`${name}/device=mine-nic`]);
  await devices.release(p, signal);
  assert.deepEqual(await devices.cdiDevices(p, containerOf(p)), []);
  assert.equal(world.driver.prepared.size, 1);
  await devices.release(q, signal);
  await devices.release(q, signal);
  assert.deepEqual(world.driver.calls, ["prepare mine", "unprepare"]);
  assert.equal(world.driver.prepared.size, 0);
});

test("devices that stand for extended resources are prepared, and each container gets its own", async () => {
  await using world = await deviceWorld();
  const { devices } = await world.kubelet();
  await haveClaim(world.client, "made");
  const resources = { limits: { "example.com/gpu": "1" } };
  const created = await world.client.create(Pod, {
    metadata: { name: "p", namespace },
    spec: {
      containers: [
        { name: "app", image: "i", resources },
        { name: "idle", image: "i" },
      ],
    },
  });
  const claim = await world.client.get(ResourceClaim, { namespace, name: "made" });
  const results = [{ request: "gpu", driver: name, pool: "n1", device: "gpu-0" }];
  const reservedFor = [{ resource: "pods", name: "p", uid: created.metadata.uid ?? "" }];
  await world.client.update(
    ResourceClaim,
    { ...claim, status: { allocation: { devices: { results } }, reservedFor } },
    "status",
  );
  const extendedResourceClaimStatus = {
    resourceClaimName: "made",
    requestMappings: [{ containerName: "app", resourceName: "example.com/gpu", requestName: "gpu" }],
  };
  const pod = { ...created, status: { ...created.status, extendedResourceClaimStatus } };
  await devices.prepare(pod, signal);
  assert.deepEqual(world.driver.calls, ["prepare made"]);
  const [app, idle] = pod.spec.containers;
  assert.ok(app && idle);
  assert.deepEqual(await devices.cdiDevices(pod, app), [`${name}/device=made-gpu`]);
  assert.deepEqual(await devices.cdiDevices(pod, idle), []);
  await devices.release(pod, signal);
  assert.equal(world.driver.prepared.size, 0);
});

test("a driver's failure keeps the pod from starting, says why, and is tried again", async () => {
  await using world = await deviceWorld();
  const { devices } = await world.kubelet();
  await haveClaim(world.client, "mine");
  const p = await world.pod("p", "mine");
  world.driver.faults.prepare = "out of magic";
  await assert.rejects(devices.prepare(p, signal), {
    reason: "FailedPrepareDynamicResources",
    message: /Failed to prepare dynamic resources: .*out of magic/,
  });
  delete world.driver.faults.prepare;
  await devices.prepare(p, signal);
  world.driver.faults.unprepare = "stuck";
  await assert.rejects(devices.release(p, signal), /stuck/);
  assert.deepEqual(await devices.pods(), [p.metadata.uid]);
  delete world.driver.faults.unprepare;
  await devices.release(p, signal);
  assert.deepEqual(await devices.pods(), []);
});

test("a pod may not use a claim that is not reserved for it", async () => {
  await using world = await deviceWorld();
  const { devices } = await world.kubelet();
  await haveClaim(world.client, "mine");
  await world.pod("p", "mine");
  const stranger = await world.client.create(Pod, {
    ...wanting({ claim: "mine" }),
    metadata: { name: "s", namespace },
  });
  await assert.rejects(devices.prepare(stranger, signal), /is not allowed to use ResourceClaim mine/);
  assert.deepEqual(world.driver.calls, []);
});

test("the next kubelet takes back what one before it had prepared, also where that was killed amid", async () => {
  await using world = await deviceWorld();
  const first = await world.kubelet();
  await haveClaim(world.client, "mine");
  await haveClaim(world.client, "half");
  const [p, h] = [await world.pod("p", "mine"), await world.pod("h", "half")];
  await first.devices.prepare(p, signal);
  world.driver.faults.prepare = "the kubelet dies before it hears of more";
  await assert.rejects(first.devices.prepare(h, signal));
  delete world.driver.faults.prepare;
  await first.end();

  const second = await world.kubelet();
  assert.deepEqual(new Set(await second.devices.pods()), new Set([p.metadata.uid, h.metadata.uid]));
  assert.deepEqual(await second.devices.cdiDevices(p, containerOf(p, "gpu")), [`${name}/device=mine-gpu`]);
  for (const uid of await second.devices.pods()) await second.devices.remove(uid, signal);
  assert.equal(world.driver.prepared.size, 0);
  assert.equal(world.driver.calls.filter((call) => call === "unprepare").length, 2);
  assert.deepEqual(await second.devices.pods(), []);
});

test("slices of a node go when its kubelet starts, and those of a driver that stays away after a while", async () => {
  await using world = await deviceWorld();
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const stop = new AbortController();
  const slices = new DeviceSlices({ node: "n1", client: world.client, clock });
  slices.registered();
  const present = async () =>
    (await world.client.list(ResourceSlice)).items.map(({ metadata }) => metadata.name).toSorted();
  const untilThere = async (...names: readonly string[]) => {
    for (let tries = 0; JSON.stringify(await present()) !== JSON.stringify(names); tries++) {
      if (tries > 5000) assert.fail(`${await present()} instead of ${names}`);
      await turn();
    }
  };
  await haveSlice(world.client, "n1", [{ name: "gpu-0" }]);
  await haveSlice(world.client, "n2", [{ name: "gpu-0" }]);
  const done = slices.run(stop.signal).catch(() => undefined);
  await untilThere("n2-1");
  await haveSlice(world.client, "n1", [{ name: "gpu-0" }], 2);
  slices.went(name);
  await clock.advance(29_000);
  slices.came(name);
  await clock.advance(60_000);
  assert.deepEqual(await present(), ["n1-2", "n2-1"]);
  slices.went(name);
  await clock.advance(30_000);
  await untilThere("n2-1");
  stop.abort(new Error("the kubelet ends"));
  await done;
});
