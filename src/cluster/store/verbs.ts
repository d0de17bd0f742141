// The words after `knarr store`.
import { parseArgs } from "node:util";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { showProgress } from "#cli/host/progress.ts";
import { showSteps } from "#cli/host/steps.ts";
import { print } from "#cli/print.ts";
import { copyStore } from "#store/copy.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import {
  type CheckReport,
  checkStore,
  figuresOf,
  restoreStore,
  shrinkStore,
  snapshotStore,
} from "#store/host/lmdb-operate.ts";
import { ClusterFolder } from "../local/cluster-folder.ts";
import { restoreCluster } from "../local/restore.ts";
import { openSource, openTarget } from "./location.ts";

export interface StoreVerb {
  readonly name: string;
  readonly use: string;
  readonly help: readonly string[];
  run(args: readonly string[]): Promise<void>;
}

const status: StoreVerb = {
  name: "status",
  use: "status STORE",
  help: ["Revisions, number of keys and size. The store may be in use."],
  async run(args) {
    const [location] = positionals("status STORE", args, 1);
    if (/^etcds?:/.test(location)) {
      const { engine, close } = await openSource(location, {});
      const { revision, compacted, sizeBytes, usedBytes, alarm } = await engine.status().finally(close);
      const known = (bytes: number | undefined) => (bytes === undefined ? "unknown" : mebibytes(bytes));
      printFacts({ revision, "oldest kept": compacted, size: known(sizeBytes), "in use": known(usedBytes), alarm });
      return;
    }
    const { revision, compacted, keys, sizeBytes, usedBytes } = await figuresOf(location);
    printFacts({
      revision,
      "oldest kept": compacted,
      keys,
      size: mebibytes(sizeBytes),
      "in use": mebibytes(usedBytes),
    });
  },
};

const snapshot: StoreVerb = {
  name: "snapshot",
  use: "snapshot FOLDER FILE",
  help: ["Writes a consistent copy of an embedded store to a new file, and checks it. The store may be in use."],
  async run(args) {
    const [folder, file] = positionals("snapshot FOLDER FILE", args, 2);
    const report = await withProgress("checking the copy", (update) => snapshotStore(folder, file, update));
    print(`${file}: ${summary(report)}`);
  },
};

const restore: StoreVerb = {
  name: "restore",
  use: "restore FILE FOLDER | restore FILE --name=CLUSTER [--data-dir=FOLDER]",
  help: [
    "Checks a snapshot and puts it into a folder that holds no store yet. With --name, into the place of a cluster's store: the",
    "cluster is stopped and started again if it runs, what it had before is kept beside it, and comes back if it cannot start.",
  ],
  async run(args) {
    const text = { type: "string" } as const;
    const { values, positionals: rest } = parse(restore.use, args, { name: text, "data-dir": text });
    if (values.name !== undefined) return restoreByName(values.name, values["data-dir"], rest);
    if (values["data-dir"] !== undefined) throw new UsageError("store restore: --data-dir goes with --name");
    const [file, folder] = positionals(restore.use, rest, 2);
    const report = await withProgress("checking the snapshot", (update) => restoreStore(file, folder, update));
    print(`${folder}: ${summary(report)}`);
  },
};

async function restoreByName(name: string, dataDir: string | undefined, rest: readonly string[]): Promise<void> {
  const [snapshot] = positionals(restore.use, rest, 1);
  const place = new ClusterFolder({ name, "data-dir": dataDir });
  const progress = showProgress("checking the snapshot", systemClock);
  const { report, kept, isRunning } = await restoreCluster({
    place,
    snapshot,
    onProgress: progress.update,
    onChecked: progress.end,
  }).finally(() => progress.end());
  print(`Cluster ${JSON.stringify(name)} has the state of the snapshot: ${summary(report)}.`);
  if (kept !== undefined) print(`What it had before is in ${kept}; remove that when you do not need it.`);
  if (!isRunning) print('It was stopped, and still is: "knarr start" starts it.');
}

const check: StoreVerb = {
  name: "check",
  use: "check STORE",
  help: ["Looks at every page and every record of an embedded store or a snapshot. The store may be in use."],
  async run(args) {
    const [path] = positionals("check STORE", args, 1);
    const report = await withProgress("checking", (update) => checkStore(path, update));
    print(`${path} is sound: ${summary(report)}`);
  },
};

const compact: StoreVerb = {
  name: "compact",
  use: "compact FOLDER [--revision=N]",
  help: [
    "Forgets history before a revision, or before the newest. The store must not be in use:",
    "one that is compacts itself.",
  ],
  async run(args) {
    const { values, positionals: rest } = parse("compact FOLDER [--revision=N]", args, {
      revision: { type: "string" },
    });
    const [folder] = positionals("compact FOLDER [--revision=N]", rest, 1);
    await figuresOf(folder); // an error for a folder without a store, where opening would make one
    const engine = await openLmdbStore({ folder, clock: systemClock });
    try {
      const newest = await engine.revision();
      const revision = values.revision === undefined ? newest : Number(values.revision);
      if (!Number.isSafeInteger(revision) || revision < 1)
        throw new UsageError(`--revision=${values.revision}: must be a positive whole number`);
      const before = await engine.status();
      await engine.compact(revision);
      const after = await engine.status();
      print(
        `${folder}: history before revision ${after.compacted} is forgotten; ${mebibytes(before.usedBytes ?? 0)} in use before, ${mebibytes(after.usedBytes ?? 0)} now`,
      );
    } finally {
      await engine.close();
    }
  },
};

const shrink: StoreVerb = {
  name: "shrink",
  use: "shrink FOLDER",
  help: ["Rewrites the file of a store without its free room. The store must not be in use."],
  async run(args) {
    const [folder] = positionals("shrink FOLDER", args, 1);
    const { before, after } = await withProgress("checking the copy", (update) => shrinkStore(folder, update));
    print(`${folder}: ${mebibytes(before)} before, ${mebibytes(after)} now`);
  },
};

const copy: StoreVerb = {
  name: "copy",
  use: "copy FROM TO [--cacert=FILE --cert=FILE --key=FILE]",
  help: [
    "Copies what a store holds at this moment into an empty one of any engine. An embedded target keeps all revisions;",
    "etcd gives its own, so clients must list again. History before the copy is not taken along.",
  ],
  async run(args) {
    const text = { type: "string" } as const;
    const { values, positionals: rest } = parse(copy.use, args, { cacert: text, cert: text, key: text });
    const [from, to] = positionals(copy.use, rest, 2);
    const source = await openSource(from, values);
    try {
      const target = await openTarget(to, values);
      try {
        const { entries, revision, keptRevisions } = await withProgress("copying", (update) =>
          copyStore(source.engine, target.engine, new AbortController().signal, update),
        );
        const kept = keptRevisions ? "with their revisions" : "with new revisions: clients must list again";
        print(`${to}: ${entries} keys as of revision ${revision}, ${kept}`);
      } finally {
        await target.close();
      }
    } finally {
      await source.close();
    }
  },
};

const move: StoreVerb = {
  name: "move",
  use: "move --to=etcd [--name=CLUSTER] [--data-dir=FOLDER]",
  help: [
    "Moves the state of a cluster of this machine from its embedded store to an etcd that is started for it, as knarr up --ha has one.",
    "The cluster runs meanwhile; for the last part its API is away for some seconds, while containers go on. Clients list again.",
    "What the embedded store has is kept beside it.",
  ],
  async run(args) {
    const text = { type: "string" } as const;
    const { values, positionals: rest } = parse(move.use, args, { to: text, name: text, "data-dir": text });
    if (rest.length > 0 || values.to !== "etcd")
      throw new UsageError(`store move: it goes --to=etcd; usage: knarr store ${move.use}`);
    const place = new ClusterFolder({ name: values.name ?? "knarr", "data-dir": values["data-dir"] });
    const { moveToEtcd } = await import("./move-to-etcd.ts");
    const steps = showSteps(systemClock);
    const { entries, pauseMs } = await moveToEtcd({
      place,
      install: true,
      progress: (words) => steps.begin(words),
    }).finally(() => steps.end());
    const pause = pauseMs === undefined ? "" : `; nothing could be written for ${(pauseMs / 1000).toFixed(1)} s`;
    print(`The state of cluster ${JSON.stringify(place.name)} is in etcd now: ${entries} keys${pause}.`);
    print(`What it had before is in ${place.store}; remove that when you do not need it.`);
  },
};

const recover: StoreVerb = {
  name: "recover",
  use: "recover --force [--name=CLUSTER] [--data-dir=FOLDER]",
  help: [
    "For a cluster on an etcd of its own that has lost more than half of its members for good: makes the member of this machine the only",
    "one, with the data that it has, and starts the cluster. Other control planes join anew. A lost machine must never run its member",
    'again: "knarr leave --force" there before it joins. What only the lost ones knew is lost. What the member had is kept beside it.',
  ],
  async run(args) {
    const isForced = args.includes("--force");
    const text = { type: "string" } as const;
    const { values, positionals: rest } = parse(
      recover.use,
      args.filter((arg) => arg !== "--force"),
      { name: text, "data-dir": text },
    );
    if (rest.length > 0) throw new UsageError(`store recover takes no arguments; usage: knarr store ${recover.use}`);
    const place = new ClusterFolder({ name: values.name ?? "knarr", "data-dir": values["data-dir"] });
    place.mustExist();
    if (!isForced)
      throw new UsageError(
        `store recover: nobody here can know that the other members are gone for good. If one of them may come back, start it instead ("knarr start"); if not, say --force`,
      );
    const [{ recoverEtcd }, { startAgain }] = await Promise.all([
      import("../etcd/recover.ts"),
      import("../local/start-again.ts"),
    ]);
    const steps = showSteps(systemClock);
    const kept = await recoverEtcd(place, (words) => steps.begin(words)).finally(() => steps.end());
    await startAgain(place);
    print("The member of this machine is the only one of etcd now.");
    print(`What it had before is in ${kept}; remove that when you do not need it.`);
    print('On each machine that is lost, if it ever runs again: "knarr leave --force", then join it anew.');
  },
};

export const storeVerbs: readonly StoreVerb[] = [
  status,
  snapshot,
  restore,
  check,
  compact,
  shrink,
  copy,
  move,
  recover,
];

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const summary = ({ revision, compacted, keys, records, sizeBytes }: CheckReport) =>
  `revision ${revision}, ${keys} keys, ${records} records of history from revision ${compacted} on, ${mebibytes(sizeBytes)}`;

function printFacts(facts: Readonly<Record<string, string | number | undefined>>): void {
  for (const [name, value] of Object.entries(facts)) if (value !== undefined) print(`${name.padEnd(12)}${value}`);
}

async function withProgress<T>(
  what: string,
  work: (update: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const progress = showProgress(what, systemClock);
  try {
    return await work(progress.update);
  } finally {
    progress.end();
  }
}

function positionals<N extends 1 | 2>(
  use: string,
  args: readonly string[],
  count: N,
): N extends 1 ? [string] : [string, string];
function positionals(use: string, args: readonly string[], count: number): string[] {
  const flag = args.find((arg) => arg.startsWith("-"));
  if (flag) throw new UsageError(`store: unknown flag ${flag}; usage: knarr store ${use}`);
  if (args.length !== count)
    throw new UsageError(`store: ${args.length} arguments where ${count} are needed; usage: knarr store ${use}`);
  return [...args];
}

function parse<N extends string>(
  use: string,
  args: readonly string[],
  options: Readonly<Record<N, { readonly type: "string" }>>,
): { values: Partial<Record<N, string>>; positionals: string[] } {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values: values as Partial<Record<N, string>>, positionals };
  } catch (cause) {
    throw new UsageError(`${cause instanceof Error ? cause.message : cause}; usage: knarr store ${use}`);
  }
}
