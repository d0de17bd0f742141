import { UsageError } from "#base/errors.ts";
import { aligned } from "#cli/aligned.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import type { EtcdState } from "../etcd/etcd-state.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { type ClusterState, stateOf } from "../local/state.ts";

const flags = {
  ...placeFlags,
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "Form of the answer" },
} as const;

export const status: Command = {
  use: "status [FLAGS]",
  help: flagsHelp(flags),
  async run(args) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`status takes no arguments; to name a cluster: --name=${rest[0]}`);
    if (!["text", "json"].includes(asked.output))
      throw new UsageError(`--output is text or json, not ${JSON.stringify(asked.output)}`);
    const place = new ClusterFolder(asked);
    const machine = joinedMachine(place);
    if (machine && !machine.isControlPlane) {
      const { node, server } = machine;
      const state = place.process ? "running" : "stopped";
      return print(
        asked.output === "json"
          ? JSON.stringify({ node, server, state }, undefined, 2)
          : aligned([
              ["node", `${node} (${state})`],
              ["cluster", server],
            ]).join("\n"),
      );
    }
    const state = await stateOf(place);
    const joined = machine && { node: machine.node };
    print(
      asked.output === "json" ? JSON.stringify({ ...joined, ...state }, undefined, 2) : lines(state, machine?.node),
    );
  },
};

/** `ownNode` is the node that this machine is, if it has joined. */
function lines(state: ClusterState, ownNode: string | undefined): string {
  const { nodes, pods, components, store } = state;
  const rows: readonly (readonly [string, string | undefined])[] = [
    [
      "cluster",
      `${state.name} (${state.state}${state.uptimeSeconds === undefined ? "" : `, up ${span(state.uptimeSeconds)}`})`,
    ],
    ["node", ownNode],
    ["problem", state.problem],
    ["endpoint", state.endpoint],
    ["context", `${state.context}${state.kubeconfig === undefined ? "" : ` in ${state.kubeconfig}`}`],
    ["nodes", nodes && `${nodes.filter(({ ready }) => ready).length} of ${nodes.length} ready`],
    ...(nodes ?? [])
      .filter(({ ready, problem }) => !ready || problem !== undefined)
      .map(
        ({ name, ready, problem = "has not said how it is" }) =>
          [name, `${ready ? "" : "not ready: "}${problem}`] as const,
      ),
    [
      "pods",
      pods &&
        (Object.entries(pods)
          .map(([phase, count]) => `${count} ${phase}`)
          .join(", ") ||
          "none"),
    ],
    ...(components ?? []).map(({ name, healthy, message }) => [name, healthy ? "healthy" : message] as const),
    ...(state.etcd ? etcdLines(state.etcd) : []),
    ["control plane", state.manifests && `static pods of ${state.manifests}`],
    ["store", store.bytes === undefined ? store.engine : `${store.engine}, ${mebibytes(store.bytes)}`],
    ["encryption", store.encryption ?? (store.engine === "memory" ? undefined : "none")],
    ["memory", state.memoryBytes === undefined ? undefined : mebibytes(state.memoryBytes)],
    ["process", state.pid === undefined ? undefined : String(state.pid)],
    ["folder", state.folder],
  ];
  const shown = rows.filter((row): row is readonly [string, string] => Boolean(row[1]));
  return aligned(shown).join("\n");
}

function etcdLines({ members, alarm, problem }: EtcdState): readonly (readonly [string, string])[] {
  if (problem !== undefined) return [["etcd", `no member could be asked: ${problem}`]];
  const down = members.flatMap(({ name, problem: why }) => (why === undefined ? [] : [[name, why] as const]));
  const alarmWords = alarm === undefined ? "" : `; ${alarm}`;
  return [
    ["etcd", `${members.length - down.length} of ${members.length} members answer${alarmWords}`],
    ...down.map(([name, why]) => [`etcd ${name}`, `does not answer: ${why}`] as const),
  ];
}

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

function span(seconds: number): string {
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (days) return `${days}d${(hours ?? 0) % 24}h`;
  if (hours) return `${hours}h${(minutes ?? 0) % 60}m`;
  return minutes ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}
