import { existsSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { followFile, openLog, readEntry } from "../local/log-lines.ts";
import { isSearch, searchFlags, searchLogs } from "./search-logs.ts";

const flags = {
  name: {
    type: "string",
    value: "CLUSTER",
    help: "Cluster of this machine; defaults to knarr, of a search to the one of the kubeconfig",
  },
  "data-dir": placeFlags["data-dir"],
  follow: { type: "bool", short: "f", default: false, help: "Go on with what is logged from now on" },
  tail: { type: "int", default: -1, help: "Only the last lines, so many of them" },
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "json: one object for each line" },
  ...searchFlags,
} as const;
const components = [
  ...["apiserver", "cluster", "controller-manager", "dns", "images", "kubelet", "network"],
  ...["proxy", "scheduler", "store"],
];

export const logs: Command = {
  use: "logs [COMPONENT] [FLAGS] | logs --pods=SELECTOR [FLAGS]",
  help: [
    "Without a flag that says which pods, it shows what the cluster itself logs.",
    `Components: ${components.join(", ")}.`,
    'What the containerd of a node says is in nodes/NODE/containerd.log of the folder that "knarr status" names.',
    "",
    "With one of --pods, --pod, --container, --node, --namespace, --all-namespaces, --since, --until, --grep it searches what pods wrote,",
    "also those that are gone, in the cluster's log store (the add-on logs). That takes the right to get pods/log in the namespace.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr logs scheduler -f",
    "  knarr logs --pods app=web --since 1h --grep 'HTTP/1.1\" 5'",
    "  knarr logs -A --grep panic --tail 20 -o json",
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    const [component, ...more] = rest;
    if (more.length > 0) throw new UsageError(`logs takes one component, got ${rest.join(" ")}`);
    if (component !== undefined && !components.includes(component))
      throw new UsageError(`logs: ${JSON.stringify(component)} is no component; there are ${components.join(", ")}`);
    if (!["text", "json"].includes(flagValues.output))
      throw new UsageError(`--output is text or json, not ${JSON.stringify(flagValues.output)}`);
    if (isSearch(flagValues)) {
      if (component !== undefined) throw new UsageError(`logs: ${component} is a component, which pods are not`);
      return searchLogs(flagValues);
    }
    const place = new ClusterFolder({ ...flagValues, name: flagValues.name ?? placeFlags.name.default });
    place.mustExist();
    if (!existsSync(place.log))
      throw new Error(`cluster ${JSON.stringify(place.name)} has no log: it runs in the foreground, or never ran`);
    const log = openLog(place.log);
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
    process.stdout.on("error", () => stop.abort()); // whoever read it has gone
    const shown = (lines: readonly string[]) =>
      lines
        .map((line) => ({ line, ...readEntry(line) }))
        .filter((entry) => component === undefined || entry.component === component)
        .map(({ line, text }) => (flagValues.output === "json" ? line : text));
    const show = (texts: readonly string[]) => {
      if (texts.length > 0) print(texts.join("\n"));
    };
    const most = flagValues.tail < 0 ? Number.POSITIVE_INFINITY : flagValues.tail;
    let past = shown(log.read());
    for (const older of log.past()) {
      if (past.length >= most) break;
      past = [...shown(older), ...past];
    }
    show(past.slice(Math.max(0, past.length - most)));
    if (flagValues.follow) await followFile(place.log, () => show(shown(log.read())), stop.signal);
  },
};
