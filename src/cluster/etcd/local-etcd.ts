// The member of an etcd that runs beside the control plane of this machine, and the store on it and on the other members.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { systemRandom as random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { parseJson } from "#schema/json.ts";
import { EtcdMembers } from "#store/host/etcd/members.ts";
import type { Member } from "#store/host/etcd/messages.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { replaceFile } from "../certificates.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { type EtcdCertificates, etcdCertificates } from "./etcd-certificates.ts";
import { EtcdProcess } from "./etcd-process.ts";
import { clientUrl, type EtcdMemberSettings, peerUrl } from "./member-settings.ts";

const usualPorts = { clientPort: 2379, peerPort: 2380 };
const lookMs = 10_000;
const startMs = 15_000;
const stepMs = 100;

const fileOf = ({ folder }: ClusterFolder): string => join(folder, "etcd.json");
/** Where the member keeps its data. */
export const dataOf = ({ folder }: ClusterFolder): string => join(folder, "etcd");

export function readMember(place: ClusterFolder): EtcdMemberSettings | undefined {
  if (!existsSync(fileOf(place))) return undefined;
  return parseJson(readFileSync(fileOf(place), "utf8")).value as EtcdMemberSettings; // we wrote it
}

export const writeMember = (place: ClusterFolder, member: EtcdMemberSettings): void =>
  replaceFile(fileOf(place), `${JSON.stringify(member, undefined, 2)}\n`, 0o600);

/** A member of this machine, on the usual ports or on others that are free. */
export async function newMember(address: string, name = hostname()): Promise<EtcdMemberSettings> {
  const usual = Object.values(usualPorts);
  const isFree = await Promise.all(usual.map((port) => freePort(address, port)));
  const ports = isFree.includes(undefined)
    ? { clientPort: await anyPort(address), peerPort: await anyPort(address) }
    : usualPorts;
  const member = { name, address, ...ports, initialCluster: "", isLearner: false };
  return { ...member, endpoints: [clientUrl(member)] };
}

async function anyPort(address: string): Promise<number> {
  const port = await freePort(address, 0);
  if (port === undefined) throw new Error(`there is no free port at ${address}`);
  return port;
}

const freePort = (address: string, wanted: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) =>
      error.code === "EADDRINUSE"
        ? resolve(undefined)
        : reject(new Error(`etcd cannot listen at ${address}`, { cause: error })),
    );
    server.listen(wanted, address, () => {
      const at = server.address();
      server.close(() => resolve(at !== null && typeof at === "object" ? at.port : undefined));
    });
  });

/** What members say of themselves, as etcd's --initial-cluster has it; a member that has not started has no name yet. */
export const initialClusterOf = (members: readonly Member[], own: EtcdMemberSettings): string =>
  members
    .flatMap(({ name, peerUrls }) => peerUrls.map((url) => `${url === peerUrl(own) ? own.name : name}=${url}`))
    .join(",");

/** Ways to members that take requests. */
export const endpointsOf = (members: readonly Member[]): readonly string[] =>
  members.filter(({ isLearner }) => !isLearner).flatMap(({ clientUrls: [url] }) => url ?? []);

export class LocalEtcd {
  readonly process: EtcdProcess;
  readonly #place: ClusterFolder;
  readonly #log: Log;
  #member: EtcdMemberSettings;
  #store: EtcdStore | undefined;

  constructor(place: ClusterFolder, member: EtcdMemberSettings, log: Log, forgetsOthers = false) {
    this.#place = place;
    this.#member = member;
    this.#log = log.with({ component: "etcd" });
    this.process = new EtcdProcess({
      member,
      certificates: this.renewCertificates().member,
      folder: dataOf(place),
      logFile: join(place.folder, "etcd.log"),
      forgetsOthers,
      clock,
      log: this.#log,
    });
  }

  /** Makes anew what is about to end. */
  renewCertificates(): EtcdCertificates {
    return etcdCertificates(this.#place.certificates, [this.#member.address], clock);
  }

  /** Resolves when the member answers, or when it takes so long that the others have to do. A new member is a full one then. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#member.isLearner) await this.#promoted(signal);
    for (const end = clock.elapsed() + startMs; clock.elapsed() < end; await clock.sleep(stepMs, signal)) {
      const problem = await this.#problem(signal);
      if (problem === undefined) return;
    }
    this.#log.warn("the member of this machine does not answer yet; more than half of the members have to run", {
      member: this.#member.name,
    });
  }

  open(): EtcdStore {
    const tls = () => this.renewCertificates().client;
    const { endpoints } = this.#member;
    this.#store = new EtcdStore({ endpoints, tls, clock, random, log: this.#log });
    return this.#store;
  }

  /** Notices members that come and go. */
  follower(): Component {
    return {
      name: "etcd members",
      run: async (signal) => {
        while (!signal.aborted) {
          await this.#look(signal).catch((error: unknown) =>
            this.#log.debug("the members could not be listed", { error: explain(error) }),
          );
          await clock.sleep(lookMs, signal);
        }
      },
    };
  }

  async #look(signal: AbortSignal): Promise<void> {
    const own = clientUrl(this.#member);
    const found = endpointsOf(await this.#members().list(signal));
    if (!found.includes(own)) return;
    const endpoints = [own, ...found.filter((endpoint) => endpoint !== own).toSorted()];
    this.#store?.follow(endpoints);
    if (endpoints.join() === this.#member.endpoints.join()) return;
    this.#log.info("the members of etcd are others now", { endpoints });
    this.#write({ ...this.#member, endpoints });
  }

  async #promoted(signal: AbortSignal): Promise<void> {
    const { endpoints } = this.#member;
    const members = new EtcdMembers({ endpoints, tls: this.renewCertificates().client, clock });
    for (;;) {
      const own = (await members.list(signal)).find(({ peerUrls }) => peerUrls.includes(peerUrl(this.#member)));
      if (!own) throw new Error(`etcd at ${endpoints.join(", ")} does not know the member ${peerUrl(this.#member)}`);
      if (!own.isLearner || (await this.#isPromoted(members, own.id, signal))) break;
      await clock.sleep(stepMs, signal);
    }
    this.#write({ ...this.#member, isLearner: false, endpoints: [clientUrl(this.#member), ...endpoints] });
  }

  async #isPromoted(members: EtcdMembers, id: bigint, signal: AbortSignal): Promise<boolean> {
    try {
      return await members.promote(id, signal);
    } catch (error) {
      signal.throwIfAborted();
      this.#log.warn("etcd does not make this member one that votes; trying again", { error: explain(error) });
      return false;
    }
  }

  async #problem(signal: AbortSignal): Promise<string | undefined> {
    const own = clientUrl(this.#member);
    const options = { endpoints: [own], tls: this.renewCertificates().client, clock };
    try {
      const states = await new EtcdMembers(options).states(signal);
      return states.find(({ clientUrls }) => clientUrls.includes(own))?.problem;
    } catch (error) {
      signal.throwIfAborted();
      return explain(error);
    }
  }

  #members(): EtcdMembers {
    return new EtcdMembers({ endpoints: this.#member.endpoints, tls: this.renewCertificates().client, clock });
  }

  #write(member: EtcdMemberSettings): void {
    this.#member = member;
    writeMember(this.#place, member);
  }
}
