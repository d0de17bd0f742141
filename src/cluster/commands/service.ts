import { existsSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { UsageError } from "#base/errors.ts";
import { runProgram } from "#base/host/run-program.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { print } from "#cli/print.ts";
import { replaceFile } from "../certificates.ts";
import { joinedMachine } from "../join/machine-folder.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { unitName, unitPath, unitText } from "../service/unit.ts";

const flags = {
  ...placeFlags,
  print: { type: "bool", default: false, help: "Print the unit that install would write, and change nothing" },
} as const;

export const service: Command = {
  use: "service install|uninstall|status [FLAGS]",
  help: [
    "install has systemd start a cluster of this machine, or the node of a machine that has joined one, whenever the machine boots; uninstall",
    "ends that and leaves the cluster as it is. What runs at the moment goes on either way.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr service install",
    "  knarr service install --print",
  ].join("\n"),
  async run([verb, ...args]) {
    const { flags: asked, rest } = parseFlags(flags, args);
    if (rest.length > 0) throw new UsageError(`service ${verb} takes no arguments, got ${JSON.stringify(rest[0])}`);
    const work = verbs[verb ?? ""];
    if (!work) throw new UsageError(`service: say what to do: ${Object.keys(verbs).join(", ")}`);
    await work(new ClusterFolder(asked), asked.print);
  },
};

const verbs: Readonly<Record<string, (place: ClusterFolder, isPrinted: boolean) => Promise<void>>> = {
  install,
  uninstall,
  status,
};

async function install(place: ClusterFolder, isPrinted: boolean): Promise<void> {
  if (!joinedMachine(place)) place.mustExist();
  const text = unitText(place, ownCommand());
  if (isPrinted) return print(text.trimEnd());
  mustHaveSystemd(place);
  replaceFile(unitPath(place), text, 0o644);
  await runProgram(["systemctl", "daemon-reload"]);
  await runProgram(["systemctl", "enable", unitName(place)]);
  print(`${unitPath(place)} is enabled: the cluster is started whenever this machine boots.`);
}

async function uninstall(place: ClusterFolder): Promise<void> {
  if (!existsSync(unitPath(place))) return print(`There is no ${unitPath(place)}: nothing to do.`);
  mustHaveSystemd(place);
  await runProgram(["systemctl", "disable", unitName(place)]);
  rmSync(unitPath(place));
  await runProgram(["systemctl", "daemon-reload"]);
  print(`${unitPath(place)} is gone; the cluster stays as it is.`);
}

async function status(place: ClusterFolder): Promise<void> {
  if (!existsSync(unitPath(place))) return print(`Not installed: there is no ${unitPath(place)}.`);
  const isOurs = readFileSync(unitPath(place), "utf8") === unitText(place, ownCommand());
  print(`Installed: ${unitPath(place)}${isOurs ? "" : "; it starts another checkout, or was changed"}.`);
  print(`The cluster ${place.process ? "runs" : "does not run"}.`);
}

/** The launcher, or what stands in for it where knarr is run without. */
const ownCommand = (): readonly string[] => {
  const launcher = process.env.KNARR_LAUNCHER;
  return launcher === undefined
    ? [process.execPath, ...process.execArgv, resolve(process.argv[1] ?? "")]
    : [resolve(launcher)];
};

function mustHaveSystemd(place: ClusterFolder): void {
  if (existsSync("/run/systemd/system")) return; // as sd_booted(3) looks
  throw new Error(
    `systemd does not run here, so ${unitPath(place)} was not changed; "knarr service install --print" prints what would be in it`,
  );
}
