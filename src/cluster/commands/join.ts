import { hostname } from "node:os";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { showSteps } from "#cli/host/steps.ts";
import { print } from "#cli/print.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { parseIp } from "#schema/ip.ts";
import { labelsOf, taintOf } from "../alone/kubelet-settings.ts";
import { checkCaHash } from "../join/discovery.ts";
import { joinCluster } from "../join/join.ts";
import { parseToken } from "../join/tokens.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { makeKnown } from "../local/start.ts";

const flags = {
  ...placeFlags,
  token: { type: "string", value: "TOKEN", help: 'What "knarr token create" printed on the other machine' },
  "ca-hash": { type: "strings", value: "sha256:HEX", help: "Hash of the key of the cluster's authority" },
  "unsafe-skip-ca-verification": { type: "bool", default: false, help: "Believe whoever knows the token" },
  "node-name": { type: "string", value: "NAME", help: "Name of the node (default: that of this machine)" },
  "node-ip": {
    type: "string",
    value: "IP",
    help: "Address of this machine (default: the one that the cluster is reached from)",
  },
  "node-labels": { type: "strings", value: "KEY=VALUE", help: "Labels of the node" },
  "register-with-taints": { type: "strings", value: "KEY=VALUE:EFFECT", help: "Taints of the node" },
  "control-plane": {
    type: "bool",
    default: false,
    help: "Make this machine a control plane as well: an API server, controllers and a scheduler, and a member of its etcd",
  },
  "certificate-key": {
    type: "string",
    value: "HEX",
    help: 'With --control-plane: the key that "knarr token create --control-plane" printed',
  },
  "no-install": { type: "bool", default: false, help: "Install no packages; say which are missing instead" },
  timeout: { type: "string", value: "DURATION", default: "3m", help: "How long it may take" },
} as const;

export const joinCommand: Command = {
  use: "join HOST:PORT --token TOKEN --ca-hash sha256:HEX [FLAGS]",
  help: [
    "Makes this machine a node of a cluster that runs on another. Returns when the node is ready; it goes on in the background.",
    'On the other machine "knarr token create --print-join-command" prints the command to run here. Needs root.',
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr join 192.168.5.1:6443 --token abcdef.0123456789abcdef --ca-hash sha256:…",
    "  knarr join 192.168.5.1:6443 --token … --ca-hash … --node-name rack-2 --node-labels disk=ssd",
    "  knarr join 192.168.5.1:6443 --token … --ca-hash … --control-plane --certificate-key …",
    "  knarr leave",
  ].join("\n"),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    const options = { ...optionsOf(asked, rest), place: new ClusterFolder(asked) };
    const stop = new AbortController();
    const interrupted = () => stop.abort(new Error("interrupted; nothing is left behind"));
    for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupted);
    const cancel = systemClock.after(durationFlag("timeout", asked.timeout), () =>
      stop.abort(new Error(`this machine is not a node after ${asked.timeout}; nothing is left behind`)),
    );
    const steps = showSteps(systemClock);
    try {
      const { node, server, isControlPlane } = await joinCluster(
        { ...options, progress: (text) => steps.begin(text) },
        stop.signal,
      );
      steps.done(`node ${node} is ready`);
      if (isControlPlane) await makeKnown(options.place, undefined, new AbortController().signal);
      const what = isControlPlane ? `node ${node} and a control plane` : `node ${node}`;
      print(`This machine is ${what} of the cluster at ${server}. "knarr leave" takes it out again.`);
    } catch (error) {
      steps.end();
      throw stop.signal.aborted ? stop.signal.reason : error;
    } finally {
      cancel();
      for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupted);
    }
  },
};

function certificateKeyOf(asked: ReturnType<typeof parseFlags<typeof flags>>["flags"]): string | undefined {
  const key = asked["certificate-key"];
  if (!asked["control-plane"]) {
    if (key !== undefined) throw new UsageError("--certificate-key goes with --control-plane");
    return undefined;
  }
  if (key === undefined)
    throw new UsageError(
      'a control plane needs --certificate-key; "knarr token create --control-plane" prints the whole command where the cluster is',
    );
  if (!/^[0-9a-f]{64}$/.test(key)) throw new UsageError("--certificate-key: 64 hexadecimal digits are needed");
  return key;
}

function optionsOf(asked: ReturnType<typeof parseFlags<typeof flags>>["flags"], rest: readonly string[]) {
  const [, bracketed, plain, port = "6443"] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(rest[0] ?? "") ?? [];
  const host = bracketed ?? plain;
  if (rest.length !== 1 || host === undefined) throw new UsageError("join takes the address of the cluster, HOST:PORT");
  if (asked.token === undefined) throw new UsageError("--token is needed");
  if (asked["ca-hash"].length === 0 && !asked["unsafe-skip-ca-verification"])
    throw new UsageError(
      "--ca-hash is needed, so that nobody can pass for the cluster; --unsafe-skip-ca-verification does without",
    );
  const node = (asked["node-name"] ?? hostname()).trim().toLowerCase();
  const [problem] = [...dns1123Subdomain(node)];
  if (problem !== undefined) throw new UsageError(`--node-name: ${JSON.stringify(node)}: ${problem}`);
  const address = asked["node-ip"];
  if (address !== undefined && !parseIp(address))
    throw new UsageError(`--node-ip: ${JSON.stringify(address)} is not an address`);
  return {
    host,
    port: Number(port),
    token: parseToken(asked.token),
    caHashes: asked["ca-hash"].map(checkCaHash),
    node,
    address,
    labels: labelsOf(asked["node-labels"]),
    taints: asked["register-with-taints"].map(taintOf),
    install: !asked["no-install"],
    certificateKey: certificateKeyOf(asked),
  };
}
