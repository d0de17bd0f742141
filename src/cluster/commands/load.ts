import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { lockFolder } from "#base/host/folder-lock.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { showProgress } from "#cli/host/progress.ts";
import { print } from "#cli/print.ts";
import { KeptImages } from "../images/kept-images.ts";
import { type ImageNode, loadArchive } from "../images/load.ts";
import { ClusterFolder, placeFlags } from "../local/cluster-folder.ts";
import { readSettings } from "../local/settings.ts";
import { localNodes } from "../machine/local-nodes.ts";

const flags = {
  ...placeFlags,
  node: { type: "string", value: "NODE", help: "Only this node, and only as long as that lives" },
} as const;

export const load: Command = {
  use: "load ARCHIVE… [FLAGS]",
  help: [
    'Brings images to all nodes of a cluster, from archives as "docker save", podman and buildx write them, compressed or not;',
    "- is standard input. Those of a cluster that is stopped come to the nodes when it starts.",
    "",
    flagsHelp(flags),
    "",
    "Examples:",
    "  knarr load app.tar.gz",
    "  docker save app:1.0 | knarr load -",
  ].join("\n"),
  async run(args) {
    const { flags: flagValues, rest } = parseFlags(flags, args);
    if (rest.length === 0) throw new UsageError("load takes the archives to load, or - for standard input");
    if (rest.filter((input) => input === "-").length > 1) throw new UsageError("- can be given once");
    if (rest.includes("-") && process.stdin.isTTY)
      throw new UsageError('- reads an archive from standard input, as in "docker save app:1.0 | knarr load -"');
    const place = new ClusterFolder(flagValues);
    place.mustExist();
    const nodes = nodesToLoad(await nodesOf(place), flagValues.node, place);
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const)
      process.once(name, () => stop.abort(new Error("interrupted; what was loaded before stays")));
    await loadAll(place, rest, { nodes, keep: flagValues.node === undefined }, stop.signal);
  },
};

interface TargetNode extends ImageNode {
  readonly isRunning: boolean;
}

function nodesToLoad(
  found: readonly TargetNode[],
  only: string | undefined,
  { name }: ClusterFolder,
): readonly ImageNode[] {
  const running = found.filter(({ isRunning }) => isRunning);
  if (only === undefined) return running;
  const node = found.find((candidate) => candidate.name === only);
  if (!node) {
    const names = found.map((candidate) => candidate.name).join(", ");
    throw new UsageError(
      `--node: ${JSON.stringify(only)} is no node of cluster ${JSON.stringify(name)}; there is ${names}`,
    );
  }
  if (!node.isRunning)
    throw new Error(`node ${only} does not run; start the cluster with "knarr start", or leave out --node`);
  return [node];
}

async function loadAll(
  place: ClusterFolder,
  inputs: readonly string[],
  { nodes, keep }: { readonly nodes: readonly ImageNode[]; readonly keep: boolean },
  signal: AbortSignal,
): Promise<void> {
  const lock = lockFolder(place.folder, "loading", "the images of cluster");
  const where =
    nodes.length === 0
      ? "comes to the nodes when the cluster starts"
      : `is on ${nodes.map(({ name }) => name).join(", ")}`;
  try {
    for (const input of inputs) {
      const progress = showProgress(`reading ${input === "-" ? "standard input" : input}`, systemClock);
      const kept = new KeptImages(place.images);
      try {
        const names = await loadArchive(
          input,
          { kept, nodes, keep, progress: (done, total) => progress.update(done, total) },
          signal,
        );
        for (const name of names) print(`${name} ${where}`);
      } finally {
        progress.end();
      }
    }
  } finally {
    lock.release();
  }
}

async function nodesOf(place: ClusterFolder): Promise<readonly TargetNode[]> {
  const settings = readSettings(place);
  if (!settings || settings.runtime === "simulated")
    throw new Error(
      `the nodes of cluster ${JSON.stringify(place.name)} are simulated: they run any image without having it, so there is nothing to load`,
    );
  return localNodes(place, settings).nodes.map(({ name, containerd }) => ({
    name,
    runtime: containerd,
    isRunning: containerd.pid() !== undefined,
  }));
}
