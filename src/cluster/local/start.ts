// Starts a cluster of this machine for a person: shows how far it is, puts it into their kubeconfig, and says what to type next.
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { lockFolder } from "#base/host/folder-lock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { durationFlag } from "#cli/duration-flag.ts";
import type { FlagValues } from "#cli/flags.ts";
import { type Steps, showSteps } from "#cli/host/steps.ts";
import { print } from "#cli/print.ts";
import { startInBackground } from "./background.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import type { Preparation } from "./prepare.ts";
import { removeCluster } from "./remove.ts";
import { readSettings, type Settings, storeOf, writeSettings } from "./settings.ts";
import type { StartStep } from "./step.ts";

export const startFlags = {
  foreground: { type: "bool", default: false, help: "Stay, and log to the terminal; Ctrl-C stops the cluster" },
  wait: { type: "bool", default: true, help: "Return when the nodes are ready, not when the API is served" },
  "no-install": { type: "bool", default: false, help: "Install no packages; say which are missing instead" },
  timeout: { type: "string", value: "DURATION", default: "2m", help: "How long the start may take" },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "The kubeconfig to put the cluster into; defaults to the one that kubectl uses",
  },
} as const;

export interface StartOptions extends Preparation {
  readonly flags: FlagValues<typeof startFlags>;
  /** Whether nothing of it was there before: then nothing is there after a failure. */
  readonly isNew: boolean;
}

export async function startForPerson(start: StartOptions): Promise<void> {
  const { place, flags, isNew } = start;
  const timeoutMs = durationFlag("timeout", flags.timeout);
  const release = lockStart(place);
  const stop = new AbortController();
  const interrupted = () => stop.abort(new Error(isNew ? "interrupted; nothing is left behind" : "interrupted"));
  // Who is impatient interrupts again: what is being cleared away must not be left half done.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, interrupted);
  try {
    await startOrLeaveNothing(start, timeoutMs, stop);
    if (flags.foreground) return;
    await makeKnown(place, flags.kubeconfig, new AbortController().signal);
    print(nextWords(place));
  } finally {
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupted);
    release();
  }
}

async function startOrLeaveNothing(start: StartOptions, timeoutMs: number, stop: AbortController): Promise<void> {
  const { place, flags, isNew } = start;
  const { signal } = stop;
  let cancel: () => void = () => undefined;
  const steps = showSteps(systemClock);
  try {
    const prepare = async () => {
      const settings = await prepared(start, steps, signal);
      signal.throwIfAborted();
      cancel = systemClock.after(timeoutMs, () =>
        stop.abort(new Error(`cluster ${JSON.stringify(place.name)} is not ready after ${flags.timeout}`)),
      );
      announce(start, steps);
      return settings;
    };
    const onStep = tellSteps(start, steps, () => cancel());
    if (flags.foreground) return await stayInForeground({ ...start, settings: await prepare() }, onStep, signal);
    const until = flags.wait ? "ready" : "serving";
    const started = startInBackground({ place, prepare, until, onStep }, signal);
    await Promise.all([started, contexts()]); // loaded while there is nothing else to do
  } catch (error) {
    steps.end();
    if (isNew) await removeCluster(place);
    // A terminal interrupts the programs that we run as well: that they failed is not the reason.
    throw signal.aborted ? signal.reason : error;
  } finally {
    cancel();
  }
}

/** Loaded for real nodes only, since it needs much of the machine's side. */
async function prepared({ flags, ...what }: StartOptions, steps: Steps, signal: AbortSignal): Promise<Settings> {
  if (what.settings.ha) {
    const { ensureEtcd } = await import("../etcd/etcd-program.ts");
    await ensureEtcd({ install: !flags["no-install"], progress: (text) => steps.begin(text) }, signal);
  }
  if (what.settings.runtime === "simulated") return what.settings;
  steps.begin("looking at this machine");
  const { prepareMachine } = await import("./prepare.ts");
  return prepareMachine(
    what,
    {
      install: !flags["no-install"],
      progress: (text) => steps.begin(text),
      note(sentence) {
        steps.end();
        print(`Note: ${sentence}.`);
      },
    },
    signal,
  );
}

/** A lock: two processes that start one cluster at the same time would take its folder from each other. */
export function lockStart(place: ClusterFolder): () => void {
  makeFolder(place.folder);
  try {
    const lock = lockFolder(place.folder, "starting", "cluster");
    return () => lock.release();
  } catch (cause) {
    throw new Error(`cluster ${JSON.stringify(place.name)} is being started already`, { cause });
  }
}

function announce({ place, settings }: StartOptions, steps: Steps): void {
  const isSimulated = settings.runtime === "simulated";
  const warning = isSimulated ? "; its nodes are simulated: pods count as running, but no container does" : "";
  print(`Starting cluster ${JSON.stringify(place.name)}${warning}.`);
  steps.begin("starting the API server");
}

function tellSteps({ settings }: StartOptions, steps: Steps, isReady: () => void): (step: StartStep) => void {
  const simulated = settings.runtime === "simulated" ? " simulated" : "";
  const nodes = `${settings.nodes}${simulated} node${settings.nodes === 1 ? "" : "s"}`;
  return (step) => {
    if (step.is === "serving") {
      steps.done(`API served at ${step.url}`);
      steps.begin(`waiting for ${nodes}`);
    } else {
      isReady();
      steps.done(settings["no-network"] ? `${nodes} there; a network plugin has to make them ready` : `${nodes} ready`);
    }
  };
}

async function stayInForeground(
  { place, settings, flags }: StartOptions,
  onStep: (step: StartStep) => void,
  signal: AbortSignal,
): Promise<void> {
  const { runCluster } = await import("./run.ts");
  writeSettings(place, settings);
  const log = createLog({ clock: systemClock, write: writeToStderr });
  let kubeconfigWritten: Promise<void> | undefined;
  const ready = (step: StartStep) => {
    onStep(step);
    if (step.is !== "ready") return;
    kubeconfigWritten = makeKnown(place, flags.kubeconfig, new AbortController().signal).then(
      () => print(nextWords(place)),
      (error: unknown) => log.error("the kubeconfig was not changed", { error }),
    );
  };
  await runCluster({ place, settings, log, onStep: ready }, signal);
  if (!kubeconfigWritten) throw signal.reason;
  await kubeconfigWritten;
  if (storeOf(settings) === "memory") await removeCluster(place);
}

/** With a reader of YAML, which those need not wait for who start a process first. */
const contexts = () => import("./contexts.ts");

/** Remembers where, so that `knarr down` finds it. */
export async function makeKnown(
  place: ClusterFolder,
  explicit: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { addContext } = await contexts();
  let kubeconfig: string;
  try {
    kubeconfig = await addContext(place, explicit, signal);
  } catch (cause) {
    throw new Error(`the cluster runs, but no kubeconfig knows it; "knarr kubeconfig" prints one`, { cause });
  }
  const settings = readSettings(place);
  if (settings && settings.kubeconfig !== kubeconfig) writeSettings(place, { ...settings, kubeconfig });
}

/** A link makes our own kubectl the machine's, where there is none. */
function linkWords(env: NodeJS.ProcessEnv): readonly string[] {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  if (folders.some((folder) => existsSync(join(folder, "kubectl")))) return [];
  return [
    "",
    "There is no kubectl on the PATH. knarr kubectl is one; as kubectl, too, with a link:",
    "",
    `  ln -s ${env.KNARR_LAUNCHER ?? "$PWD/knarr"} /usr/local/bin/kubectl`,
  ];
}

export const nextWords = (place: ClusterFolder, env = process.env): string => {
  const { context, name } = place;
  const image = readSettings(place)?.runtime === "containerd" ? "knarr.local/nginx" : "nginx";
  const which = name === "knarr" ? "" : ` --name=${name}`;
  return [
    `kubectl now speaks to it: its context is ${context}. What next?`,
    "",
    "  kubectl get nodes",
    `  kubectl create deployment web --image=${image} --replicas=3`,
    `  knarr status${which}      how it is`,
    `  knarr logs -f${which}     what it says`,
    `  knarr down${which}        ends it and removes all that is left of it`,
    ...linkWords(env),
  ].join("\n");
};
