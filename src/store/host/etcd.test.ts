import { after, before, describe } from "node:test";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { engineSuite } from "../engine.suite.ts";
import { type EtcdCluster, type EtcdClusterOptions, noEtcd, startEtcd } from "../testing/etcd.ts";
import { EtcdStore, type EtcdStoreOptions } from "./etcd.ts";

const never = new AbortController().signal;
const open = (cluster: EtcdCluster, options: Partial<EtcdStoreOptions> = {}) =>
  new EtcdStore({
    endpoints: cluster.endpoints,
    ...(cluster.certificate && { tls: cluster.certificate }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    ...options,
  });

async function empty(engine: EtcdStore): Promise<void> {
  const { entries } = await engine.list("");
  await Promise.all(entries.map(({ key, modified }) => engine.delete(key, modified)));
}

/** The suite on one cluster: each test begins with an empty store, at a later revision. */
function suiteOn(name: string, options: EtcdClusterOptions): void {
  describe(name, { skip: noEtcd, concurrency: false }, () => {
    let cluster: EtcdCluster;
    before(async () => {
      cluster = await startEtcd(options);
    });
    after(() => cluster.stop());
    engineSuite(name, async () => {
      const engine = open(cluster);
      await empty(engine);
      return {
        engine,
        exactTime: false,
        pass: (seconds) => systemClock.sleep(seconds * 1000, never),
        async reopen() {
          await engine.close();
          return open(cluster);
        },
      };
    });
  });
}

// Side by side: most of their time they wait for keys to expire.
describe("etcd", { concurrency: 2 }, () => {
  suiteOn("etcd with one member", { members: 1 });
  suiteOn("etcd with three members", { members: 3 });
});
