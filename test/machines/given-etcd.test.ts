// Two control planes on an etcd that was there before them, and that neither of them looks after.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { etcdArguments } from "#cluster/etcd/etcd-arguments.ts";
import { etcdCertificates } from "#cluster/etcd/etcd-certificates.ts";
import { clientUrl } from "#cluster/etcd/member-settings.ts";
import { noEtcd } from "#store/testing/etcd.ts";
import { impossible, Machines, type TestMachine } from "./machines.ts";
import { Tour, until } from "./tour.ts";

/** Starts an etcd that wants certificates. Resolves with the flags that name it. */
async function startEtcd(machine: TestMachine, folder: string) {
  const { member: certificates } = etcdCertificates(folder, [machine.address], systemClock);
  const ports = { clientPort: 2379, peerPort: 2380 };
  const member = {
    name: "given",
    address: machine.address,
    ...ports,
    initialCluster: "",
    isLearner: false,
    endpoints: [],
  };
  const args = etcdArguments({ member, certificates, folder: join(folder, "data") });
  await machine.shell(`setsid /usr/bin/etcd ${args.join(" ")} > /run/etcd.log 2>&1 < /dev/null &`);
  const pair = ["client.crt", "client.key"].map((name) => join(folder, "etcd", name));
  return [
    `--etcd-servers=${clientUrl(member)}`,
    `--etcd-cafile=${certificates.ca}`,
    `--etcd-certfile=${pair[0]}`,
    `--etcd-keyfile=${pair[1]}`,
  ];
}

test("a control plane joins on an etcd that is given, leads when the first is gone, and leaves", {
  skip: impossible || noEtcd,
}, async () => {
  await using machines = new Machines("g");
  const store = await machines.add("store", 9);
  const tour = await Tour.up(machines, "--addons=none", ...(await startEtcd(store, join(machines.folder, "given"))));
  const second = await machines.add("second", 2);
  const command = await tour.first.does("token", "create", "--control-plane", tour.name);
  await second.does(...command.trim().split(" ").slice(1), tour.name, "--no-install", "--timeout=5m");
  const kubectl = async (...args: readonly string[]) => {
    const { code, said } = await second.run(["kubectl", ...args]);
    return code === 0 ? said : undefined;
  };
  const servers = () => kubectl("get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[*].addresses[0]}");
  await until("two API servers", async () => (await servers()) === "10.77.0.1 10.77.0.2");
  assert.match(
    await second.shell(`grep etcd- /var/lib/knarr/${machines.cluster}/settings.json`),
    /"etcd-keyfile": ".*\/etcd-given\/client\.key"/,
    "files that flags name have come along",
  );
  await tour.first.does("leave", tour.name);
  await until("a deployment", () => kubectl("create", "deployment", "web", "--image=knarr.local/nginx:1.0"));
  await until("its pod", async () => (await kubectl("get", "pods", "-o", "name"))?.startsWith("pod/web-"));
  await until(
    "the end of the first node",
    async () => (await kubectl("get", "nodes", "-o", "name")) === "node/second\n",
  );
  assert.match((await second.knarr("leave", tour.name)).said, /no other control plane of the cluster is known to run/);
  await second.does("leave", "--force", tour.name);
  for (const machine of [tour.first, second])
    assert.equal((await machine.shell("ls -d /run/knarr /var/lib/knarr/* 2> /dev/null || true")).trim(), "");
});
