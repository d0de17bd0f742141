// Devices of plugins and of resource claims in containers of a real runtime.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { impossible } from "../kubelet/containerd.ts";
import { isReady, MachineNode, namespace, shell } from "../kubelet/machine-node.ts";
import { TestDevicePlugin } from "./device-plugin.ts";
import { TestDeviceDriver } from "./driver.ts";
import { driver as driverName, haveClaim } from "./objects.ts";

const resource = "example.com/gpu";
const amounts = { [resource]: "1" };
const wait = "trap 'exit 0' TERM; sleep 1000 & wait";

test("containers find the devices of plugins and drivers, and a later kubelet has them taken back", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  const kubelet = `${node.containerd.folder}/kubelet`;
  await node.startKubelet();
  const plugin = new TestDevicePlugin({ resource, folder: `${kubelet}/device-plugins` });
  const driver = new TestDeviceDriver(driverName, kubelet);
  try {
    await node.until(() => node.node(), "the node");
    plugin.offer({ g0: true, g1: true });
    await plugin.start();
    await plugin.register();
    await driver.start();
    await node.until(
      async () => (await node.node())?.status.allocatable?.[resource] === "2",
      "the devices in the node's status",
    );

    await haveClaim(node.client, "mine");
    const check = `test "$DEVICES" = g0 && test -d /opt/vendor && test -c /dev/vendor0 && ${wait}`;
    const { containers = [] } = shell(check, { resources: { limits: amounts, claims: [{ name: "gpu" }] } });
    const pod = await node.create("p", {
      containers,
      resourceClaims: [{ name: "gpu", resourceClaimName: "mine" }],
      restartPolicy: "Never",
    });
    const claim = await node.client.get(ResourceClaim, { namespace, name: "mine" });
    const results = [{ request: "gpu", driver: driverName, pool: "n1", device: "gpu-0" }];
    const reservedFor = [{ resource: "pods", name: "p", uid: pod.metadata.uid ?? "" }];
    await node.client.update(
      ResourceClaim,
      { ...claim, status: { allocation: { devices: { results } }, reservedFor } },
      "status",
    );
    await node.untilPod("p", isReady);
    assert.deepEqual(plugin.calls, ["allocate g0"]);
    assert.deepEqual([...driver.prepared], [claim.metadata.uid]);

    const healthOf = async () => {
      const { status } = await node.client.get(Pod, { namespace, name: "p" });
      return (status.containerStatuses?.[0]?.allocatedResourcesStatus ?? []).map(({ name, resources = [] }) =>
        [name, ...resources.map((one) => `${one.resourceID} ${one.health} ${one.message ?? ""}`.trim())].join(": "),
      );
    };
    const cdi = (request: string) => `${driverName}/device=mine-${request}`;
    const isTold = (...lines: readonly string[]) =>
      node.until(async () => JSON.stringify(await healthOf()) === JSON.stringify(lines), `${lines}`);
    await isTold(`claim:gpu: ${cdi("gpu")} Unknown: ${cdi("nic")} Unknown`, `${resource}: g0 Healthy`);
    driver.tell("gpu-0", 2, "too hot");
    plugin.offer({ g0: false, g1: true });
    await isTold(`claim:gpu: ${cdi("gpu")} Unhealthy too hot: ${cdi("nic")} Unknown`, `${resource}: g0 Unhealthy`);

    await node.dropKubelet();
    await node.client.delete(Pod, { namespace, name: "p" }, { graceSeconds: 0 });
    await node.startKubelet();
    await node.until(async () => driver.prepared.size === 0, "that the driver takes the device back");
  } finally {
    plugin.stop();
    driver.stop();
  }
});
