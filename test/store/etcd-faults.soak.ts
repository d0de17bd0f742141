// The faults of etcd-faults.test.ts in random order, for minutes. SEED=n repeats a run's choices, MINUTES=n its length.
import { test } from "node:test";
import { seededRandom } from "#base/random.ts";
import { type EtcdMember, noEtcd } from "#store/testing/etcd.ts";
import { pause, startLoad } from "./etcd-load.ts";

const minutes = Number(process.env.MINUTES ?? 10);
const seed = Number(process.env.SEED ?? Math.floor(performance.timeOrigin % 100_000));

test(`random faults for ${minutes} minutes, seed ${seed}`, {
  skip: noEtcd,
  timeout: (minutes + 5) * 60_000,
}, async (t) => {
  const random = seededRandom(seed);
  const { strike, finish } = await startLoad(t, seed);
  const hang = async (victims: readonly EtcdMember[]) => {
    for (const member of victims) await member.pause();
    await pause(random.below(6_000));
    for (const member of victims) member.resume();
  };
  const crash = async (victims: readonly EtcdMember[]) => {
    await Promise.all(victims.map((member) => member.kill()));
    await pause(random.below(3_000));
    await Promise.all(victims.map((member) => member.start()));
  };
  const end = performance.now() + minutes * 60_000;
  while (performance.now() < end) {
    const fault = random.below(2) === 0 ? { name: "hang", run: hang } : { name: "crash", run: crash };
    const count = 1 + random.below(3);
    const isLeader = random.below(3) === 0;
    await strike(`${fault.name} of ${isLeader ? "the leader" : `${count} members`}`, async (cluster) => {
      const first = random.below(3);
      const others = [0, 1, 2].map((i) => cluster.members[(first + i) % 3]!).slice(0, count);
      await fault.run(isLeader ? [await cluster.leader()] : others);
    });
  }
  await finish();
});
