// The members of an etcd cluster, as whoever looks after it sees and changes them.
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { alarmOf } from "./alarm.ts";
import type { EtcdRpc, Member } from "./messages.ts";
import { rpcs } from "./messages.ts";
import { EtcdConnection, type EtcdTlsOptions, RpcError } from "./transport.ts";

export interface EtcdMembersOptions {
  /** Of members that may be asked, `https://host:port`; one that answers is enough. */
  readonly endpoints: readonly string[];
  readonly tls: EtcdTlsOptions;
  readonly clock: Clock;
}

export interface EtcdMemberState extends Member {
  /** Why it does not answer; undefined if it does. */
  readonly problem: string | undefined;
}

const patienceMs = 5_000;
const healthMs = 3_000;
/** etcd wants connections to be there for five seconds before it counts on them. */
const settleMs = 30_000;
const againMs = 500;
const unhealthy = "etcdserver: unhealthy cluster";
const notInSync = "etcdserver: can only promote a learner member which is in sync with leader";

export class EtcdMembers {
  readonly #options: EtcdMembersOptions;

  constructor(options: EtcdMembersOptions) {
    this.#options = options;
  }

  async list(signal: AbortSignal): Promise<readonly Member[]> {
    return (await this.#call(rpcs.memberList, {}, "list the members", signal)).members;
  }

  /** The same, with whether each of them answers. */
  async states(signal: AbortSignal): Promise<readonly EtcdMemberState[]> {
    const members = await this.list(signal);
    return Promise.all(members.map(async (member) => ({ ...member, problem: await this.#problemOf(member, signal) })));
  }

  /** Why etcd takes no writes, though its members answer; undefined if it takes them. */
  async alarm(signal: AbortSignal): Promise<string | undefined> {
    return alarmOf((await this.#call(rpcs.status, {}, "ask for alarms", signal)).errors);
  }

  /** Adds a member that copies all data before it counts for the quorum. */
  async addLearner(peerUrl: string, signal: AbortSignal): Promise<{ id: bigint; members: readonly Member[] }> {
    const draft = { peerUrls: [peerUrl], isLearner: true };
    const { member, members } = await this.#call(rpcs.memberAdd, draft, `add member ${peerUrl}`, signal);
    if (!member) throw new Error(`add member ${peerUrl}: etcd does not say which it is`);
    return { id: member.id, members };
  }

  /** Makes a learner a full member; false if it has not caught up yet. */
  async promote(id: bigint, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#call(rpcs.memberPromote, { id }, "promote the new member", signal);
      return true;
    } catch (error) {
      if (error instanceof Error && error.cause instanceof RpcError && error.cause.message === notInSync) return false;
      throw error;
    }
  }

  /** Takes a member out. etcd refuses while others are just coming back, so it is asked again for a while. */
  async remove(id: bigint, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (const end = clock.elapsed() + settleMs; ; await clock.sleep(againMs, signal)) {
      try {
        await this.#call(rpcs.memberRemove, { id }, `remove member ${id.toString(16)}`, signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const isUnsettled = error instanceof Error && explain(error).includes(unhealthy);
        if (!isUnsettled || clock.elapsed() > end) throw error;
      }
    }
  }

  async #problemOf({ clientUrls: [endpoint] }: Member, signal: AbortSignal): Promise<string | undefined> {
    if (endpoint === undefined) return "it has not started yet";
    const { tls, clock } = this.#options;
    const connection = new EtcdConnection(endpoint, tls, clock);
    try {
      // Linearizable: a member that is cut off from the others answers nothing else but its status.
      await connection.call(rpcs.range, { key: "\0", countOnly: true }, { timeoutMs: healthMs, signal });
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      return explain(error);
    } finally {
      connection.close();
    }
  }

  /** Asks one member after another until one answers. */
  async #call<D, T>(rpc: EtcdRpc<D, T>, draft: D, what: string, signal: AbortSignal): Promise<T> {
    const { endpoints, tls, clock } = this.#options;
    let last: unknown;
    for (const endpoint of endpoints) {
      const connection = new EtcdConnection(endpoint, tls, clock);
      try {
        return await connection.call(rpc, draft, { timeoutMs: patienceMs, signal });
      } catch (cause) {
        signal.throwIfAborted();
        last = new Error(`${what}: etcd at ${endpoint}`, { cause });
      } finally {
        connection.close();
      }
    }
    throw last ?? new Error(`${what}: no member of etcd is known`);
  }
}

/** Whether a cluster of these members can go on without one of them: more than half of the others have to answer. */
export function survivesWithout(members: readonly EtcdMemberState[], id: bigint): boolean {
  const others = members.filter((member) => member.id !== id && !member.isLearner);
  const healthy = others.filter(({ problem }) => problem === undefined);
  return others.length > 0 && healthy.length > others.length / 2;
}
