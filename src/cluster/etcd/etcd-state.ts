// How the etcd is that was started for a cluster, as its members tell. It is asked without the API, which may be down because of it.
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { EtcdMembers } from "#store/host/etcd/members.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { etcdCertificates } from "./etcd-certificates.ts";
import { readMember } from "./local-etcd.ts";

export interface EtcdState {
  readonly members: readonly { readonly name: string; readonly problem?: string }[];
  /** Why it takes no writes, though members answer. */
  readonly alarm?: string;
  /** Why no member could be asked. */
  readonly problem?: string;
}

/** Undefined if the cluster has no etcd of its own. */
export async function etcdStateOf(place: ClusterFolder, signal: AbortSignal): Promise<EtcdState | undefined> {
  const own = readMember(place);
  if (!own) return undefined;
  try {
    const { client: tls } = etcdCertificates(place.certificates, [own.address], clock);
    const members = new EtcdMembers({ endpoints: own.endpoints, tls, clock });
    const [states, alarm] = await Promise.all([members.states(signal), members.alarm(signal)]);
    return {
      // A member that has not started yet has no name.
      members: states.map(({ name, peerUrls, problem }) => ({
        name: name || peerUrls.join(","),
        ...(problem !== undefined && { problem }),
      })),
      ...(alarm !== undefined && { alarm }),
    };
  } catch (error) {
    return { members: [], problem: explain(error) };
  }
}
