// Several API servers on several members of an etcd: writes per second as a share of what the same etcd takes when it is driven directly, and how
// long it takes a machine to join and writes to go on after the loss of a server. The latter need root and containerd.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { connectClient } from "#client/host/connect.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { type EtcdCluster, noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { ServerProcess } from "../test/apiserver/harness.ts";
import { impossible, Machines } from "../test/machines/machines.ts";
import { Tour } from "../test/machines/tour.ts";
import { inLanes, median, type Report } from "./figure.ts";

const writes = 1_500;
const rounds = 3;
const failovers = 5;
const value = "x".repeat(1000);
const namespace = "default";

export async function run(report: Report): Promise<void> {
  if (noEtcd) throw new Error(noEtcd);
  for (const members of [1, 3] as const) await throughput(members, report);
  if (impossible) return console.error(`joining is not measured: ${impossible}`);
  await joinTimes(report);
}

const perSecond = async (work: (i: number) => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await inLanes(writes, work);
  return writes / ((performance.now() - began) / 1000);
};

async function throughput(members: 1 | 3, report: Report): Promise<void> {
  const etcd = await startEtcd({ members });
  const flags = [`--etcd-servers=${etcd.endpoints.join(",")}`];
  try {
    await using one = await ServerProcess.start({ flags });
    await using two = await ServerProcess.start({ flags });
    await using three = await ServerProcess.start({ flags });
    const all = [one, two, three];
    const results = { direct: [] as number[], one: [] as number[], three: [] as number[], failover: [] as number[] };
    const connections = await Promise.all(all.map(connect));
    const direct = directly(etcd);
    let run = 0;
    const through = (count: number) => {
      run++;
      return perSecond(async (i) => {
        const { client } = connections[i % count] as (typeof connections)[number];
        await client.create(ConfigMap, { metadata: { namespace, name: `r${run}-${i}` }, data: { value } });
      });
    };
    // In turns, so that what else the machine does falls on all of them.
    for (let round = 0; round < rounds; round++) {
      results.direct.push(await direct.round(round));
      results.one.push(await through(1));
      results.three.push(await through(3));
    }
    const base = median(results.direct);
    const unit = `of ${Math.round(base)} writes/s that etcd takes directly`;
    report({ name: `writes through one server on ${members} members`, value: median(results.one) / base, unit });
    report({ name: `writes through three servers on ${members} members`, value: median(results.three) / base, unit });
    await direct.close();
    if (members === 3) await failoverTimes(all, connections, report);
    for (const { close } of connections) close();
  } finally {
    await etcd.stop();
  }
}

const connect = ({ kubeconfig }: ServerProcess) =>
  connectClient({
    explicit: kubeconfig,
    env: {},
    userAgent: "bench/1",
    clock: systemClock,
    signal: new AbortController().signal,
  });

function directly({ endpoints }: EtcdCluster) {
  const store = new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
  const bytes = new TextEncoder().encode(value.repeat(2)); // about what a ConfigMap with its managed fields takes
  return {
    round: (round: number) => perSecond((i) => store.put(`/bench/${round}-${i}`, bytes, 0)),
    close: () => store.close(),
  };
}

/** From the death of a server until a client of all three has the next write acknowledged. */
async function failoverTimes(
  servers: readonly ServerProcess[],
  connections: readonly Awaited<ReturnType<typeof connect>>[],
  report: Report,
): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < failovers; round++) {
    const victim = round % servers.length;
    await servers[victim]?.kill("SIGKILL");
    const began = performance.now();
    for (let at = victim; ; at++) {
      const { client } = connections[at % connections.length] as (typeof connections)[number];
      const name = `f${round}-${at}`;
      const written = await client.create(ConfigMap, { metadata: { namespace, name } }).catch(() => undefined);
      if (written) break;
    }
    times.push(performance.now() - began);
    await servers[victim]?.start();
  }
  report({ name: "writes go on after the loss of a server, p50", value: median(times), unit: "ms" });
  report({
    name: "writes go on after the loss of a server, worst",
    value: Math.max(...times),
    unit: "ms",
    goal: { atMost: 15_000 },
  });
}

/** From the command to a node that is ready. */
async function joinTimes(report: Report): Promise<void> {
  await using machines = new Machines("b");
  const tour = await Tour.up(machines, "--ha", "--addons=none");
  const [worker, second] = [await machines.add("worker", 2), await machines.add("second", 3)];
  const timed = async (work: () => Promise<unknown>) => {
    const began = performance.now();
    await work();
    return (performance.now() - began) / 1000;
  };
  const words = async (...kind: readonly string[]) => {
    const command = await tour.first.does("token", "create", ...kind, tour.name);
    return [...command.trim().split(" ").slice(1), tour.name, "--no-install"];
  };
  const asNode = await words("--print-join-command");
  report({
    name: "a machine joins as a node",
    value: await timed(() => worker.does(...asNode)),
    unit: "s",
    goal: { atMost: 5 },
  });
  const asControlPlane = await words("--control-plane");
  report({
    name: "a machine joins as a control plane",
    value: await timed(() => second.does(...asControlPlane)),
    unit: "s",
  });
}
