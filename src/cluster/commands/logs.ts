import { existsSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { followFile, openLog, readEntry } from "../local/log-lines.ts";

const flags = {
  ...placeFlags,
  follow: { type: "bool", short: "f", default: false, help: "Go on with what is logged from now on" },
  tail: { type: "int", default: -1, help: "Only the last lines, so many of them" },
  output: { type: "string", short: "o", value: "text|json", default: "text", help: "json: lines as they were logged" },
} as const;
const components = [
  ...["apiserver", "cluster", "controller-manager", "dns", "images", "kubelet", "network"],
  ...["proxy", "scheduler", "store"],
];

export const logs: Command = {
  use: "logs [COMPONENT] [FLAGS]",
  help: [
    `Components: ${components.join(", ")}.`,
    'What a pod says is shown by "kubectl logs"; what the containerd of a node says is in nodes/NODE/containerd.log of the',
    'folder that "knarr status" names.',
    "",
    flagsHelp(flags),
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    const [component, ...more] = rest;
    if (more.length > 0) throw new UsageError(`logs takes one component, got ${rest.join(" ")}`);
    if (component !== undefined && !components.includes(component))
      throw new UsageError(`logs: ${JSON.stringify(component)} is no component; there are ${components.join(", ")}`);
    if (!["text", "json"].includes(flagValues.output))
      throw new UsageError(`--output is text or json, not ${JSON.stringify(flagValues.output)}`);
    const place = new ClusterFolder(flagValues);
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
