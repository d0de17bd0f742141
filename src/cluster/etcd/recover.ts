// The way back when more than half of the members of a cluster's etcd are lost for good: the member of this machine becomes the only one, with the
// data that it has. Writes that the lost members had acknowledged and this one had not heard of are lost with them.
import { constants, cpSync, renameSync, rmSync } from "node:fs";
import { systemClock as clock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { type EtcdMemberState, EtcdMembers } from "#store/host/etcd/members.ts";
import { raiseRevision } from "#store/move.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { endProcess } from "../local/end.ts";
import { lockStart } from "../local/start.ts";
import { etcdCertificates } from "./etcd-certificates.ts";
import { dataOf, LocalEtcd, readMember, writeMember } from "./local-etcd.ts";
import { clientUrl, type EtcdMemberSettings } from "./member-settings.ts";

const answerMs = 60_000;
const lookMs = 200;
/**
 * Lost members may have given revisions that this one never heard of, and clients may know them. The next ones are beyond these, so that
 * none is given twice.
 */
const revisionsBeyond = 10_000;

/** Resolves with where the data of before is. The cluster does not run then. Throws, and changes nothing, if etcd has its quorum. */
export async function recoverEtcd(place: ClusterFolder, progress: (text: string) => void): Promise<string> {
  const own = readMember(place);
  if (!own)
    throw new Error(
      `cluster ${JSON.stringify(place.name)} has no etcd of its own on this machine, so there is nothing to recover`,
    );
  if (own.isLearner) throw new Error(`the member of this machine never had all data of etcd: recover another one`);
  progress("asking the members of etcd");
  await mustBeLost(place, own);
  const release = lockStart(place);
  try {
    await endProcess(place, new AbortController().signal);
    const kept = keptName(place);
    const data = dataOf(place);
    progress("keeping a copy of the data");
    cpSync(data, kept, { recursive: true, mode: constants.COPYFILE_FICLONE });
    try {
      progress("making this the only member");
      await becomeOnly(place, own);
    } catch (cause) {
      rmSync(data, { recursive: true, force: true });
      renameSync(kept, data);
      throw new Error("the member of this machine could not become the only one; its data is as it was", { cause });
    }
    writeMember(place, { ...own, initialCluster: "", endpoints: [clientUrl(own)] });
    return kept;
  } finally {
    release();
  }
}

async function mustBeLost(place: ClusterFolder, own: EtcdMemberSettings): Promise<void> {
  const { client: tls } = etcdCertificates(place.certificates, [own.address], clock);
  let states: readonly EtcdMemberState[];
  try {
    states = await new EtcdMembers({ endpoints: own.endpoints, tls, clock }).states(new AbortController().signal);
  } catch {
    return; // without a quorum no member says which there are
  }
  const voters = states.filter(({ isLearner }) => !isLearner);
  const healthy = voters.filter(({ problem }) => problem === undefined);
  if (healthy.length > voters.length / 2)
    throw new Error(
      `${healthy.length} of ${voters.length} members of etcd answer, which is enough: nothing has to be recovered. "knarr leave --force" takes a machine out`,
    );
}

async function becomeOnly(place: ClusterFolder, own: EtcdMemberSettings): Promise<void> {
  const etcd = new LocalEtcd(place, { ...own, endpoints: [clientUrl(own)] }, silentLog, true);
  const stop = new AbortController();
  const running = etcd.process.run(stop.signal);
  try {
    const failed = running.then(() => Promise.reject(new Error("etcd has ended")));
    await Promise.race([untilAlone(place, own, AbortSignal.timeout(answerMs)), failed]);
    const store = etcd.open();
    try {
      const beyond = (await store.revision(stop.signal)) + revisionsBeyond;
      await raiseRevision(store, beyond, stop.signal);
      await store.compact(await store.revision(stop.signal)); // whoever knows an older one lists again
    } finally {
      await store.close();
    }
  } finally {
    stop.abort(new Error("recovered"));
    await running;
  }
}

async function untilAlone(place: ClusterFolder, own: EtcdMemberSettings, signal: AbortSignal): Promise<void> {
  const { client: tls } = etcdCertificates(place.certificates, [own.address], clock);
  const members = new EtcdMembers({ endpoints: [clientUrl(own)], tls, clock });
  for (;;) {
    const states = await members.states(signal).catch(() => []); // it has just been started
    signal.throwIfAborted();
    if (states.length === 1 && states[0]?.problem === undefined) return;
    await clock.sleep(lookMs, signal);
  }
}

const keptName = (place: ClusterFolder): string =>
  `${dataOf(place)}.before-${new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
