// What is left of a cluster on an etcd of its own after the worst: half of its members, or nothing but a backup.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { noEtcd } from "#store/testing/etcd.ts";
import { impossible, Machines, type TestMachine } from "./machines.ts";
import { Tour, until } from "./tour.ts";

interface Shown {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status?: unknown;
}

/** These change by themselves, or say where the cluster is at present. */
const alive =
  /^(events|leases|nodes|csinodes|endpoints|endpointslices|componentstatuses|ipaddresses|pods\.metrics\.k8s\.io)\b/;
const places = new Set(["kube-public/cluster-info", "kube-system/knarr-machines"]);

async function kubectl(machine: TestMachine, ...args: readonly string[]): Promise<string> {
  const { code, said } = await machine.run(["kubectl", ...args]);
  if (code !== 0) throw new Error(`kubectl ${args.join(" ")} on ${machine.name}: ${said}`);
  return said;
}

/** All objects as they were asked for, in JSON; what parts say about them is left out, and when they said it. */
async function objects(machine: TestMachine): Promise<readonly string[]> {
  const resources = (await kubectl(machine, "api-resources", "--verbs=list", "--output=name")).trim().split("\n");
  const asked = resources.filter((name) => !alive.test(name)).join(",");
  const { items } = JSON.parse(await kubectl(machine, "get", asked, "-A", "-o", "json")) as { items: readonly Shown[] };
  return items
    .filter(({ metadata }) => !places.has(`${metadata.namespace}/${metadata.name}`))
    .map(({ status: _status, metadata, ...rest }) => {
      const { resourceVersion: _version, managedFields: _managers, ...own } = metadata;
      return JSON.stringify({ ...rest, metadata: own });
    })
    .toSorted();
}

const colours = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "colours.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "colours", kind: "Colour" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

test("half of the members of etcd are lost, then all machines: what there was is there again, object by object", {
  skip: impossible || noEtcd,
}, async () => {
  await using machines = new Machines("b");
  const tour = await Tour.up(machines, "--ha", "--addons=none");
  const invite = async (from: TestMachine, to: TestMachine): Promise<void> => {
    const command = await from.does("token", "create", "--control-plane", tour.name);
    await to.does(...command.trim().split(" ").slice(1), tour.name, "--no-install", "--timeout=5m");
  };
  const second = await machines.add("second", 2);
  await invite(tour.first, second);
  await tour.apply(colours);
  await tour.kubectl("wait", "--for=condition=Established", "crd/colours.example.org");
  await tour.apply({
    apiVersion: "example.org/v1",
    kind: "Colour",
    metadata: { namespace: "default", name: "red" },
    r: 1,
  });
  await tour.kubectl("create", "secret", "generic", "word", "--from-literal=word=kept");
  await tour.kubectl("create", "deployment", "web", "--image=knarr.local/nginx:1.0", "--replicas=2");
  await tour.kubectl("rollout", "status", "deployment", "web", "--timeout=300s");
  const early = await tour.first.knarr("store", "recover", tour.name, "--force");
  assert.match(early.said, /2 of 2 members of etcd answer, which is enough/);

  await second.end();
  const unforced = await tour.first.knarr("store", "recover", tour.name);
  assert.match(unforced.said, /nobody here can know that the other members are gone for good/);
  const stuck = await tour.first.run(["kubectl", "create", "configmap", "none", "--request-timeout=3s"]);
  assert.notEqual(stuck.code, 0, "one of two members takes no writes");
  const recovered = await tour.first.does("store", "recover", tour.name, "--force");
  assert.match(recovered, /The member of this machine is the only one of etcd now\./);
  await tour.kubectl("create", "configmap", "after", "--from-literal=a=b");
  const third = await machines.add("third", 3);
  await invite(tour.first, third);
  await until("the server that joined", async () =>
    (await kubectl(third, "get", "endpointslice", "kubernetes", "-o", "jsonpath={.endpoints[*].addresses[0]}"))
      .split(" ")
      .includes(third.address),
  );

  const before = await objects(third);
  const made = await third.does("backup", "/var/lib/knarr/it.backup", tour.name);
  assert.match(made, /as of revision \d+, \d+ keys\.\nIt holds the cluster's keys, unencrypted/);
  assert.equal((await third.shell("stat -c %a /var/lib/knarr/it.backup")).trim(), "600");
  const file = join(machines.folder, "third", "it.backup");
  await Promise.all([tour.first.end(), third.end()]);

  const fourth = await machines.add("fourth", 4);
  const restored = await fourth.does("restore", file, `--bind-address=${fourth.address}`, "--no-install");
  assert.match(restored, /is as it was at \S+: revision \d+, \d+ keys\.$/m);
  assert.deepEqual(await objects(fourth), before);
  assert.equal(await kubectl(fourth, "get", "secret", "word", "-o", "jsonpath={.data.word}"), "a2VwdA==");
  assert.equal(await kubectl(fourth, "get", "colours", "red", "-o", "jsonpath={.r}"), "1");
  assert.match((await fourth.knarr("restore", file)).said, /there is a cluster "\S+" on this machine/);

  await fourth.shell("kill -9 -1"); // as at the end of its power: knarr, etcd, containerd and all containers
  await fourth.does("start", tour.name, "--no-install");
  await until("the pods of this machine", async () =>
    /^(true )*true$/.test(
      await kubectl(
        fourth,
        "get",
        "pods",
        "--field-selector=spec.nodeName=node-1",
        "-o",
        "jsonpath={.items[*].status.containerStatuses[0].ready}",
      ),
    ),
  );
  const fifth = await machines.add("fifth", 5);
  await invite(fourth, fifth);
  assert.equal(await kubectl(fifth, "get", "secret", "word", "-o", "jsonpath={.data.word}"), "a2VwdA==");
});
