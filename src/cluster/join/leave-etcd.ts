// Takes the member of this machine out of the etcd of its cluster. The others have to be able to go on without it.
import { systemClock as clock } from "#base/clock.ts";
import { type EtcdMemberState, EtcdMembers, survivesWithout } from "#store/host/etcd/members.ts";
import { etcdCertificates } from "../etcd/etcd-certificates.ts";
import { readMember } from "../etcd/local-etcd.ts";
import { clientUrl, peerUrl } from "../etcd/member-settings.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";

/** How many other members there are; undefined if the cluster has no etcd of ours, or if none of them answers. */
export async function otherMembers(place: ClusterFolder, signal: AbortSignal): Promise<number | undefined> {
  const own = readMember(place);
  if (!own) return undefined;
  try {
    return (await membersOf(place).list(signal)).filter(({ peerUrls }) => !peerUrls.includes(peerUrl(own))).length;
  } catch {
    signal.throwIfAborted();
    return own.endpoints.length > 1 ? own.endpoints.length - 1 : undefined; // as many as there were when it ran
  }
}

/** Throws, and changes nothing, if the cluster would lose its state or its quorum by it. With `force` it is tried, and the failure told. */
export async function leaveEtcd(
  place: ClusterFolder,
  { force }: { readonly force: boolean },
  signal: AbortSignal,
): Promise<void> {
  const own = readMember(place);
  if (!own) return;
  const members = membersOf(place);
  let states: readonly EtcdMemberState[];
  try {
    states = await members.states(signal);
  } catch (cause) {
    throw new Error(
      `etcd does not say which members it has, so nobody knows whether it can do without this one; ${how}`,
      {
        cause,
      },
    );
  }
  const present = states.find(({ peerUrls }) => peerUrls.includes(peerUrl(own)));
  if (!present) return; // it was taken out before
  if (!force && !survivesWithout(states, present.id)) throw new Error(refusal(states, present));
  await members.remove(present.id, signal);
}

/** Why etcd cannot do without the member of this machine for a while; undefined if it can, or if there is no other. */
export async function problemOfOthers(place: ClusterFolder, signal: AbortSignal): Promise<string | undefined> {
  const own = readMember(place);
  if (!own) return undefined;
  const states = (await membersOf(place).states(signal)).filter(({ isLearner }) => !isLearner);
  const others = states.filter(({ peerUrls }) => !peerUrls.includes(peerUrl(own)));
  const down = others.filter(({ problem }) => problem !== undefined).map(({ name }) => name);
  return down.length === 0 ? undefined : `of the members of etcd ${down.join(", ")} does not answer`;
}

const how = '"knarr leave --force" leaves all the same, and the others may then have to be made anew from a backup';

function refusal(states: readonly EtcdMemberState[], own: EtcdMemberState): string {
  const others = states.filter(({ id, isLearner }) => id !== own.id && !isLearner);
  if (others.length === 0)
    return 'this machine has the only member of etcd: without it nothing is left of the cluster; "knarr down --force" ends it for good';
  const down = others.filter(({ problem }) => problem !== undefined).map(({ name }) => name);
  return `without this machine etcd would have ${others.length} members, of which ${down.join(", ")} does not answer: more than half have to, or the cluster stands still. Start those first; ${how}`;
}

function membersOf(place: ClusterFolder): EtcdMembers {
  const own = readMember(place);
  if (!own) throw new Error(`${place.folder} has no member of etcd`);
  const { client: tls } = etcdCertificates(place.certificates, [own.address], clock);
  // The others first: the one that is to go answers no more once it is gone.
  const endpoints = own.endpoints.toSorted((a, b) => Number(a === clientUrl(own)) - Number(b === clientUrl(own)));
  return new EtcdMembers({ endpoints, tls, clock });
}
