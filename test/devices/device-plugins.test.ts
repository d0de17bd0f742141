// Device plugins of the kubelet's API v1beta1, over real gRPC.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { DevicePlugins } from "#kubelet/host/device-plugins/device-plugins.ts";
import { podOf } from "#kubelet/testing.ts";
import { TestDevicePlugin, type TestPluginOptions } from "./device-plugin.ts";

const { signal } = new AbortController();
const resource = "example.com/gpu";
const patienceMs = 120_000;

async function until(isDone: () => boolean, what: string): Promise<void> {
  for (const end = systemClock.elapsed() + patienceMs; !isDone(); ) {
    if (systemClock.elapsed() > end) assert.fail(`${what} did not come`);
    await systemClock.sleep(20, signal);
  }
}

function pluginWorld() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-plugins-"));
  const ends: (() => Promise<void> | void)[] = [];
  return {
    async kubelet() {
      const stop = new AbortController();
      const devices = new DevicePlugins({ folder, clock: systemClock, log: silentLog });
      const done = devices.run(stop.signal).catch(() => undefined);
      const end = async () => {
        stop.abort(new Error("the kubelet ends"));
        await done;
      };
      ends.push(end);
      await devices.serving;
      return { devices, end };
    },
    /** One that has come to the kubelet. */
    async plugin(
      more: Partial<TestPluginOptions> = {},
      offered: Readonly<Record<string, boolean>> = { g0: true, g1: true, g2: true },
    ) {
      const plugin = new TestDevicePlugin({ resource, folder, ...more });
      ends.push(() => plugin.stop());
      plugin.offer(offered);
      await plugin.start();
      await plugin.register();
      return plugin;
    },
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const asking = (count: number) => ({ limits: { [resource]: String(count) }, requests: { [resource]: String(count) } });
const podWith = (uid: string, count: number, init = 0) => {
  const pod = podOf({
    containers: [{ name: "app", image: "app", resources: asking(count) }],
    ...(init > 0 && { initContainers: [{ name: "init", image: "init", resources: asking(init) }] }),
  });
  return { ...pod, metadata: { ...pod.metadata, uid } };
};
const envsOf = async (devices: DevicePlugins, pod: ReturnType<typeof podWith>) =>
  (await devices.allocations(pod, pod.spec.containers[0] as never)).map(({ envs }) => envs.DEVICES);

test("devices are counted, given to one container each, and free again when its pod has ended", async () => {
  await using world = pluginWorld();
  const { devices } = await world.kubelet();
  const plugin = await world.plugin({ isPreStartRequired: true });
  await until(() => devices.counts[resource]?.allocatable === 3, "the devices");
  const [p, q, r] = [podWith("p", 2), podWith("q", 1), podWith("r", 1)];
  await devices.prepare(p, signal);
  await devices.prepare(p, signal);
  await devices.prepare(q, signal);
  await assert.rejects(devices.prepare(r, signal), {
    reason: "UnexpectedAdmissionError",
    message: /requested number of devices unavailable for example.com\/gpu. Requested: 1, Available: 0/,
  });
  assert.deepEqual(plugin.calls, ["allocate g0,g1", "allocate g2"]);
  const [given] = await devices.allocations(p, p.spec.containers[0] as never);
  assert.deepEqual(
    given?.mounts.map(({ containerPath, readOnly }) => [containerPath, readOnly]),
    [["/opt/vendor", true]],
  );
  assert.deepEqual(given?.devices, [{ containerPath: "/dev/vendor0", hostPath: "/dev/null", permissions: "rw" }]);
  assert.equal(plugin.calls.at(-1), "start g0,g1");
  await devices.release(p);
  await devices.prepare(r, signal);
  assert.deepEqual(await envsOf(devices, r), ["g0"]);
});

test("containers use again what init containers of their pod had", async () => {
  await using world = pluginWorld();
  const { devices } = await world.kubelet();
  const plugin = await world.plugin();
  await until(() => devices.counts[resource]?.allocatable === 3, "the devices");
  await devices.prepare(podWith("p", 2, 2), signal);
  assert.deepEqual(plugin.calls, ["allocate g0,g1", "allocate g0,g1"]);
  await devices.prepare(podWith("q", 1), signal);
  assert.equal(plugin.calls.at(-1), "allocate g2");
});

test("a plugin's preference is followed as far as it can be", async () => {
  await using world = pluginWorld();
  const { devices } = await world.kubelet();
  const plugin = await world.plugin({
    prefer: (available, size) => ["made-up", ...available.toReversed()].slice(0, size + 1),
  });
  await until(() => devices.counts[resource]?.allocatable === 3, "the devices");
  await devices.prepare(podWith("p", 2), signal);
  assert.deepEqual(plugin.calls, ["allocate g2,g1"]);
});

test("devices that are ill or whose plugin is gone are not given", async () => {
  await using world = pluginWorld();
  const { devices } = await world.kubelet();
  const plugin = await world.plugin({}, { g0: false, g1: true });
  await until(() => devices.counts[resource]?.capacity === 2, "the devices");
  assert.deepEqual(devices.counts[resource], { capacity: 2, allocatable: 1 });
  plugin.offer({ g0: false, g1: false });
  await until(() => devices.counts[resource]?.allocatable === 0, "the illness");
  plugin.offer({ g0: true, g1: true });
  await until(() => devices.counts[resource]?.allocatable === 2, "the cure");
  plugin.fault = "out of order";
  await assert.rejects(devices.prepare(podWith("p", 1), signal), /out of order/);
  plugin.stop();
  await until(() => devices.counts[resource]?.allocatable === 0, "the end of the plugin");
});

test("the next kubelet knows who has what, and counts nothing until plugins come again", async () => {
  await using world = pluginWorld();
  const first = await world.kubelet();
  const before = await world.plugin();
  await until(() => first.devices.counts[resource]?.allocatable === 3, "the devices");
  const p = podWith("p", 2);
  await first.devices.prepare(p, signal);
  before.stop();
  await first.end();
  const second = await world.kubelet();
  assert.deepEqual(await second.devices.pods(), ["p"]);
  assert.deepEqual(second.devices.counts[resource], { capacity: 0, allocatable: 0 });
  const after = await world.plugin();
  await until(() => second.devices.counts[resource]?.allocatable === 3, "the devices");
  await second.devices.prepare(p, signal);
  await second.devices.prepare(podWith("q", 1), signal);
  assert.deepEqual(after.calls, ["allocate g2"]);
  assert.deepEqual(await envsOf(second.devices, p), ["g0,g1"]);
  await second.devices.remove("p");
  assert.deepEqual(await second.devices.pods(), ["q"]);
});

test("a plugin of another version or without a proper name is told so", async () => {
  await using world = pluginWorld();
  await world.kubelet();
  const plugin = await world.plugin();
  await assert.rejects(plugin.register("v1alpha"), /requested API version "v1alpha" is not supported by kubelet/);
  await assert.rejects(world.plugin({ resource: "kubernetes.io/gpu" }), /is invalid/);
});
