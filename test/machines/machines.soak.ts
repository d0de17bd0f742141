// The same over a tunnel, with machines that leave and come back, and one that is cut off.
import assert from "node:assert/strict";
import { test } from "node:test";
import { impossible, Machines } from "./machines.ts";
import { Tour, until } from "./tour.ts";

test("machines reach each other's pods over VXLAN, where the network lets no address of a pod through; they leave and come back", {
  skip: impossible,
}, async () => {
  await using machines = new Machines("x", { mtu: 1280 });
  const tour = await Tour.up(machines, "--machine-network=vxlan");
  const [second, third] = [await machines.add("second", 2), await machines.add("third", 3)];
  machines.dropPodAddresses();
  const invitation = await tour.invitation();
  await Promise.all([second.does(...invitation), third.does(...invitation)]);
  const nodes = ["node-1", "second", "third"];
  const addresses = await tour.pages(nodes);
  await tour.checkPages(addresses);
  await tour.checkLargeFiles(addresses);
  assert.equal(await tour.mtuIn("second"), "1230");
  assert.match(await second.shell("ip -d link show type vxlan"), /vxlan id 7/);

  // As after a reboot: first the machine that joined, then the one that the cluster is on.
  await third.does("stop", tour.name);
  await third.does("start", tour.name);
  await tour.first.does("stop", tour.name);
  await tour.first.does("start", tour.name);
  await tour.checkPages(await tour.pages(nodes));

  assert.match(await tour.first.does("node", "drain", "second", "--force", tour.name), /node\/second drained/);
  await second.does("leave", tour.name);
  await until(
    "the end of the node",
    async () => !(await tour.kubectl("get", "nodes", "-o", "name")).includes("node/second"),
  );
  await until(
    "the end of its pod",
    async () => !(await tour.kubectl("get", "pods", "-o", "name")).includes("page-second"),
  );
  assert.equal((await second.shell("ip -d link show type vxlan")).trim(), "");
  await second.does(...invitation);
  await tour.checkPages(await tour.pages(nodes));
});

test("a token that is not known, and a cluster that lets nobody join, are said plainly", {
  skip: impossible,
}, async () => {
  await using machines = new Machines("u");
  const tour = await Tour.up(machines);
  const second = await machines.add("second", 2);
  const invitation = await tour.invitation();
  const [, , , token = ""] = invitation;
  await tour.first.does("token", "delete", token, tour.name);
  const unknown = await second.knarr(...invitation);
  assert.match(
    unknown.said,
    /is not known at 10\.77\.0\.1:6443: it has expired, was deleted, or is of another cluster/,
  );
  const nobody = await second.knarr(...invitation.map((word) => (word === "10.77.0.1:6443" ? "10.77.0.1:7" : word)));
  assert.match(nobody.said, /nobody listens there/);
  assert.equal((await second.shell("ls /var/lib/knarr")).trim(), "", "nothing is left of a try");
});
