// The control plane of a machine that has joined a cluster: what it needs to begin, and its life in the process of the machine.
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { EtcdMembers } from "#store/host/etcd/members.ts";
import { etcdCertificates } from "../etcd/etcd-certificates.ts";
import { endpointsOf, initialClusterOf, newMember, readMember, writeMember } from "../etcd/local-etcd.ts";
import { peerUrl } from "../etcd/member-settings.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { runWithStore } from "../local/run.ts";
import { readSettings, writeSettings } from "../local/settings.ts";
import { nodesElsewhere } from "./nodes-elsewhere.ts";
import { placeFiles, type SharedFiles } from "./shared-files.ts";

const again = { firstMs: 1_000, maxMs: 30_000 };
const learnerMs = 500;

/** Writes what the control plane begins with, and makes this machine a member of the cluster's etcd if that is ours. */
export async function prepareControlPlane(
  place: ClusterFolder,
  files: SharedFiles,
  { node, address }: { readonly node: string; readonly address: string },
  signal: AbortSignal,
): Promise<void> {
  const shared = placeFiles(place, files);
  const { kubeconfig: _theirs, ...rest } = shared;
  const settings = { ...rest, "bind-address": address, "advertise-address": undefined };
  if (settings.ha) await becomeMember(place, files.etcdEndpoints, { node, address }, signal);
  writeSettings(place, settings);
}

async function becomeMember(
  place: ClusterFolder,
  known: readonly string[],
  { node, address }: { readonly node: string; readonly address: string },
  signal: AbortSignal,
): Promise<void> {
  const { client: tls } = etcdCertificates(place.certificates, [address], clock);
  const own = await newMember(address, node);
  for (;;) {
    const members = new EtcdMembers({ endpoints: known, tls, clock });
    const present = await members.list(signal);
    const namesake = present.find(({ name }) => name === node);
    if (namesake)
      throw new Error(
        `there is a member ${JSON.stringify(node)} of etcd already, at ${namesake.peerUrls.join(", ")}; choose another name with --node-name, or have that machine leave first`,
      );
    // etcd takes one new member at a time.
    if (present.some(({ isLearner }) => isLearner)) {
      await clock.sleep(learnerMs, signal);
      continue;
    }
    // Before etcd is told: what is not removed here after a failure is found by it.
    const member = { ...own, isLearner: true, endpoints: endpointsOf(present) };
    writeMember(place, member);
    try {
      const added = await members.addLearner(peerUrl(own), signal);
      writeMember(place, { ...member, initialCluster: initialClusterOf(added.members, own) });
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!/too many learner|unhealthy cluster/.test(explain(error))) throw error;
      await clock.sleep(learnerMs, signal); // somebody else joins at the same moment
    }
  }
}

/** Takes a member that never came to be out of etcd again. */
export async function forgetMember(place: ClusterFolder, signal: AbortSignal): Promise<void> {
  const own = readMember(place);
  if (!own) return;
  const { client: tls } = etcdCertificates(place.certificates, [own.address], clock);
  const members = new EtcdMembers({ endpoints: own.endpoints, tls, clock });
  const present = (await members.list(signal)).find(({ peerUrls }) => peerUrls.includes(peerUrl(own)));
  if (present) await members.remove(present.id, signal);
}

/** A control plane that fails is tried again: the node of this machine goes on meanwhile. */
export function controlPlaneOf(place: ClusterFolder, log: Log): Component {
  const attempt = async (signal: AbortSignal): Promise<void> => {
    const settings = readSettings(place);
    if (!settings) throw new Error(`${place.settings} is missing`);
    const onStep = () => undefined;
    await runWithStore({ place, settings, log, onStep, nodesOf: nodesElsewhere, names: [] }, signal);
    if (!signal.aborted) throw new Error("it ended before it was asked to");
  };
  const when = (error: unknown) => {
    log.error("the control plane failed; trying again", { error: explain(error) });
    return true;
  };
  return { name: "control plane", run: (signal) => retry(attempt, { ...again, clock, when }, signal) };
}
