// Three control planes on three members of an etcd under load, while each of them in turn, and whichever leads, is killed, stopped, or cut off.
// KNARR_ROUNDS says how often, 100 times by default.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noEtcd } from "#store/testing/etcd.ts";
import { impossible, Machines, type TestMachine } from "./machines.ts";
import { Tour, until } from "./tour.ts";

const rounds = Number(process.env.KNARR_ROUNDS ?? 100);
const resumeMs = 15_000;
const program = new URL("./ha-load.ts", import.meta.url).pathname;
const faults = ["kill", "stop", "cut"] as const;

test("three control planes lose nothing while each is killed, stopped and cut off in turn", {
  skip: impossible || noEtcd,
}, async (t) => {
  await using machines = new Machines("s");
  const tour = await Tour.up(machines, "--ha", "--addons=none");
  const [second, third, outside] = [
    await machines.add("second", 2),
    await machines.add("third", 3),
    await machines.add("outside", 9),
  ];
  const command = await tour.first.does("token", "create", "--control-plane", tour.name);
  const invitation = [...command.trim().split(" ").slice(1), tour.name, "--no-install", "--timeout=5m"];
  await Promise.all([second.does(...invitation), third.does(...invitation)]);
  const all = [tour.first, second, third];
  await tour.kubectl("create", "deployment", "web", "--image=knarr.local/nginx:1.0", "--replicas=4");

  const admin = (await tour.first.does("kubeconfig", tour.name)).trim();
  await outside.run(["sh", "-c", "cat > /run/admin"], admin);
  const servers = all.map(({ address }) => `https://${address}:6443`);
  await using load = outside.keep([process.execPath, program, "/run/admin", ...servers]);
  const acknowledged = () => Number(load.lines().at(-1)?.acknowledged ?? 0);
  const progress = async (count = 20) => {
    const [before, began] = [acknowledged(), performance.now()];
    await until("writes that go on", async () => acknowledged() >= before + count);
    return performance.now() - began;
  };
  const kubectl = (machine: TestMachine, ...args: readonly string[]) =>
    machine.run(["kubectl", "--request-timeout=10s", ...args]);
  const resumed: number[] = [];
  await progress();
  for (let round = 0; round < rounds; round++) {
    const fault = faults[round % faults.length] ?? "kill";
    const victim = await victimOf(round, all);
    const other = all.find((machine) => machine !== victim) ?? tour.first;
    const began = performance.now();
    if (fault === "kill") await victim.killKnarr();
    else if (fault === "stop") await victim.killKnarr("SIGSTOP");
    else machines.plug(victim, false);
    const took = await progress();
    resumed.push(took);
    const wanted = 4 + (round % 3);
    await until("a change through another server", async () => {
      const { code } = await kubectl(other, "scale", "deployment", "web", `--replicas=${wanted}`);
      return code === 0;
    });
    if (fault === "cut") {
      const { code } = await kubectl(victim, "create", "configmap", `minority-${round}`);
      assert.notEqual(code, 0, "a server that is cut off takes no write");
    }
    if (fault === "kill") await victim.does("start", tour.name);
    else if (fault === "stop") await victim.killKnarr("SIGCONT");
    else machines.plug(victim, true);
    await until("the server that comes back", async () => (await kubectl(victim, "get", "--raw=/readyz")).code === 0);
    await until("as many pods as wanted", async () => {
      const { said } = await kubectl(
        other,
        "get",
        "pods",
        "-l",
        "app=web",
        "-o",
        "jsonpath={.items[*].metadata.deletionTimestamp}/{.items[*].metadata.name}",
      );
      const [ending = "", names = ""] = said.split("/");
      const count = (text: string) => text.split(" ").filter((word) => word !== "").length;
      return count(names) - count(ending) === wanted;
    });
    console.error(
      `round ${round}: ${fault} of ${victim.name}, writes went on after ${Math.round(took)} ms, all well after ${Math.round(performance.now() - began)} ms`,
    );
  }
  await progress();
  const result = await load.stop();
  t.diagnostic(JSON.stringify(result));
  const late = resumed.filter((ms) => ms > resumeMs).length;
  t.diagnostic(
    `writes went on after ${quantile(resumed, 0.5)} ms (p50), ${quantile(resumed, 0.99)} ms (p99); ${late} times later than ${resumeMs} ms`,
  );
  const { acknowledged: _count, operations: _operations, ...rest } = result;
  assert.deepEqual(rest, {
    twice: 0,
    lost: [],
    differingServers: 0,
    differingInformers: 0,
    refusedButSeen: [],
    violation: "none",
  });
  assert.equal(late, 0);
  for (let round = 2; round < rounds; round += faults.length)
    assert.match((await kubectl(tour.first, "get", "configmap", `minority-${round}`)).said, /NotFound/);
});

/** Each in turn; every other time the one whose controllers lead. */
async function victimOf(round: number, all: readonly TestMachine[]): Promise<TestMachine> {
  const inTurn = all[Math.floor(round / 2) % all.length] as TestMachine;
  if (round % 2 === 1) return inTurn;
  const path = "jsonpath={.spec.holderIdentity}";
  const { said } = await inTurn.run([
    "kubectl",
    "get",
    "lease",
    "-n",
    "kube-system",
    "kube-controller-manager",
    "-o",
    path,
  ]);
  return all.find(({ name }) => said.startsWith(`${name}_`)) ?? inTurn;
}

const quantile = (numbers: readonly number[], share: number): number =>
  Math.round(numbers.toSorted((a, b) => a - b)[Math.min(numbers.length - 1, Math.floor(numbers.length * share))] ?? 0);
