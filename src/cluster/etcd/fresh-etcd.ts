// A new etcd of one member, which is filled before a cluster runs on it.
import { rmSync } from "node:fs";
import { silentLog } from "#base/log.ts";
import type { EtcdStore } from "#store/host/etcd.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { memberAddress } from "../local/home-address.ts";
import type { Settings } from "../local/settings.ts";
import { dataOf, LocalEtcd, newMember } from "./local-etcd.ts";
import type { EtcdMemberSettings } from "./member-settings.ts";

export interface FilledEtcd<T> {
  /** To be written down for the cluster to run on it. */
  readonly member: EtcdMemberSettings;
  readonly result: T;
}

/** Runs it for as long as the work takes. Nothing is left of it if that fails. */
export async function withFreshEtcd<T>(
  place: ClusterFolder,
  settings: Settings,
  work: (store: EtcdStore) => Promise<T>,
): Promise<FilledEtcd<T>> {
  rmSync(dataOf(place), { recursive: true, force: true }); // of a try that was interrupted
  const member = await newMember(memberAddress(settings));
  const etcd = new LocalEtcd(place, member, silentLog);
  const stop = new AbortController();
  const running = etcd.process.run(stop.signal);
  const attempt = async (): Promise<T> => {
    await etcd.ready(stop.signal);
    const store = etcd.open();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  };
  try {
    const failed = running.then(() => Promise.reject(new Error("etcd has ended")));
    return { member, result: await Promise.race([attempt(), failed]) };
  } catch (error) {
    rmSync(dataOf(place), { recursive: true, force: true });
    throw error;
  } finally {
    stop.abort(new Error("the etcd is filled"));
    await running;
  }
}
