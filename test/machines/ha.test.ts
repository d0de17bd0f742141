// Three machines with a control plane each, on an etcd with a member on each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noEtcd } from "#store/testing/etcd.ts";
import { impossible, Machines, type TestMachine } from "./machines.ts";
import { Tour, until } from "./tour.ts";

test("three control planes: the leader's process is killed, the others write and lead, machines come back and leave with a quorum", {
  skip: impossible || noEtcd,
}, async () => {
  await using machines = new Machines("h");
  const tour = await Tour.up(machines, "--ha", "--addons=none");
  const [second, third] = [await machines.add("second", 2), await machines.add("third", 3)];
  const command = await tour.first.does("token", "create", "--control-plane", tour.name);
  assert.match(command, /^knarr join 10\.77\.0\.1:6443 .* --control-plane --certificate-key [0-9a-f]{64}$/m);
  const invitation = [...command.trim().split(" ").slice(1), tour.name, "--no-install", "--timeout=5m"];
  const wrong = await second.knarr(...invitation.map((word) => (/^[0-9a-f]{64}$/.test(word) ? "0".repeat(64) : word)));
  assert.match(wrong.said, /the --certificate-key is not the one that was printed last/);
  await Promise.all([second.does(...invitation), third.does(...invitation)]);

  const all = [tour.first, second, third];
  const kubectl = async (machine: TestMachine, ...args: readonly string[]) => {
    const { code, said } = await machine.run(["kubectl", ...args]);
    return code === 0 ? said : undefined;
  };
  const servers = (machine: TestMachine) =>
    kubectl(machine, "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[*].addresses[0]}");
  const leader = (machine: TestMachine) =>
    kubectl(
      machine,
      "get",
      "lease",
      "-n",
      "kube-system",
      "kube-controller-manager",
      "-o",
      "jsonpath={.spec.holderIdentity}",
    );
  const choice = ["get", "configmap", "-n", "kube-system", "addons", "-o", "jsonpath={.metadata.uid}"];
  const replicas = (machine: TestMachine) =>
    kubectl(machine, "get", "deployment", "web", "-o", "jsonpath={.status.replicas}");
  const pods = async (machine: TestMachine) =>
    (await kubectl(machine, "get", "pods", "-l", "app=web", "-o", "name"))?.trim().split("\n").length;

  await until("three API servers", async () => (await servers(third)) === "10.77.0.1 10.77.0.2 10.77.0.3");
  await tour.kubectl("create", "deployment", "web", "--image=knarr.local/nginx:1.0", "--replicas=3");
  await until("three replicas", async () => (await replicas(second)) === "3");

  const led = await until("a leader", () => leader(second));
  const victim = all.find(({ name }) => led.startsWith(`${name}_`));
  assert.ok(victim, led);
  const [one, other] = all.filter((machine) => machine !== victim) as [TestMachine, TestMachine];
  await victim.killKnarr();
  await until("a write through another server", () => kubectl(one, "scale", "deployment", "web", "--replicas=7"));
  await until("another leader", async () => {
    const now = await leader(other);
    return now !== undefined && now !== led;
  });
  await until("seven replicas", async () => (await replicas(other)) === "7");
  assert.equal(await pods(one), 7, "no pod is made twice");
  await until("the end of the dead server's address", async () => !(await servers(one))?.includes(victim.address));

  const working = JSON.parse(await victim.does("kubeconfig", tour.name)).clusters[0].cluster.server;
  assert.ok(
    [one, other].some(({ address }) => working === `https://${address}:6443`),
    working,
  );
  assert.ok(
    await kubectl(victim, "get", "nodes"),
    "the kubeconfig of the machine that is down names another server now",
  );

  const status = await one.does("status", tour.name);
  assert.match(status, /^etcd-0 +healthy$/m);
  assert.match(status, new RegExp(`^etcd +2 of 3 members answer\\netcd ${victim.name} +does not answer: .+$`, "m"));

  const refused = await one.knarr("leave", tour.name);
  assert.match(refused.said, new RegExp(`etcd would have 2 members, of which ${victim.name} does not answer`));
  assert.equal(refused.code, 1);
  await victim.does("start", tour.name);
  await until("the server that came back", async () => (await servers(other))?.includes(victim.address));

  const made = await until("the choice of add-ons", () => kubectl(second, ...choice));
  await tour.first.does("leave", tour.name);
  await until("a write through the servers that are left", () =>
    kubectl(second, "scale", "deployment", "web", "--replicas=2"),
  );
  await until("two replicas", async () => (await replicas(third)) === "2");
  await until("the end of the choice", () =>
    kubectl(second, "delete", "--wait=false", "-n", "kube-system", "cm/addons"),
  );
  await until("the choice of add-ons, made anew by another", async () => {
    const uid = await kubectl(second, ...choice);
    return uid !== undefined && uid !== made;
  });
  await third.does("leave", tour.name);
  await until("a write through the last server", () => kubectl(second, "annotate", "deployment", "web", "last=yes"));
  await until(
    "the end of the other nodes",
    async () => (await kubectl(second, "get", "nodes", "-o", "name"))?.trim() === "node/second",
  );
  for (const machine of [tour.first, third])
    assert.equal((await machine.shell("ls -d /run/knarr /var/lib/knarr/* 2> /dev/null || true")).trim(), "");
});
