// Starts a cluster of this machine for a person: shows how far it is, puts it into their kubeconfig, and says what to type next.
import { rmSync } from "node:fs";
import { systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { durationFlag } from "../duration-flag.ts";
import type { Parsed } from "../flags.ts";
import { startInBackground } from "./background.ts";
import type { Place } from "./place.ts";
import { readSettings, type Settings, writeSettings } from "./settings.ts";
import { type Step, showSteps } from "./steps.ts";

export const startFlags = {
  foreground: { type: "bool", default: false, help: "Stay, and log to the terminal; Ctrl-C stops the cluster" },
  wait: { type: "bool", default: true, help: "Return when the nodes are ready, not when the API is served" },
  timeout: { type: "string", value: "DURATION", default: "2m", help: "How long the start may take" },
  kubeconfig: {
    type: "string",
    value: "FILE",
    help: "The kubeconfig to put the cluster into; the one that kubectl uses unless told",
  },
} as const;

export interface StartOptions {
  readonly place: Place;
  readonly settings: Settings;
  readonly flags: Parsed<typeof startFlags>;
  /** Whether nothing of it was there before: then nothing is there after a failure. */
  readonly isNew: boolean;
}

export async function startForPerson(options: StartOptions): Promise<void> {
  const { place, settings, flags, isNew } = options;
  const stop = new AbortController();
  const interrupted = () => stop.abort(new Error(isNew ? "interrupted; nothing is left behind" : "interrupted"));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, interrupted);
  const timeoutMs = durationFlag("timeout", flags.timeout);
  const cancel = systemClock.after(timeoutMs, () =>
    stop.abort(new Error(`cluster ${JSON.stringify(place.name)} is not ready after ${flags.timeout}`)),
  );
  const steps = showSteps(systemClock);
  const nodes = `${settings.nodes} simulated node${settings.nodes === 1 ? "" : "s"}`;
  const begin = (text: string) => steps.begin(text);
  let url = "";
  const onStep = (step: Step) => {
    if (step.is === "serving") {
      url = step.url;
      steps.done(`API served at ${url}`);
      begin(`waiting for ${nodes}`);
    } else {
      cancel();
      steps.done(`${nodes} ready`);
    }
  };
  console.log(
    `Starting cluster ${JSON.stringify(place.name)}; its nodes are simulated: pods count as running, but no container does.`,
  );
  begin("starting the API server");
  try {
    if (flags.foreground) return await stayInForeground(options, onStep, stop.signal);
    const started = startInBackground(
      { place, settings, until: flags.wait ? "ready" : "serving", onStep },
      stop.signal,
    );
    await Promise.all([started, contexts()]); // loaded while there is nothing else to do
    await makeKnown(place, flags.kubeconfig, stop.signal);
  } catch (error) {
    steps.end();
    if (isNew) rmSync(place.folder, { recursive: true, force: true });
    throw error;
  } finally {
    cancel();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.off(name, interrupted);
  }
  console.log(nextWords(place));
}

async function stayInForeground(
  { place, settings, flags }: StartOptions,
  onStep: (step: Step) => void,
  signal: AbortSignal,
): Promise<void> {
  const { runCluster } = await import("./run.ts");
  writeSettings(place, settings);
  const log = createLog({ clock: systemClock, write: writeToStderr });
  let known: Promise<void> | undefined;
  await runCluster(
    {
      place,
      settings,
      log,
      onStep: (step) => {
        onStep(step);
        if (step.is === "ready")
          known = makeKnown(place, flags.kubeconfig, signal).then(
            () => console.log(nextWords(place)),
            (error: unknown) => log.error("the kubeconfig was not changed", { error }),
          );
      },
    },
    signal,
  );
  await known;
}

/** With a reader of YAML, which those need not wait for who start a process first. */
const contexts = () => import("./contexts.ts");

/** Remembers where, so that `knarr down` finds it. */
export async function makeKnown(place: Place, explicit: string | undefined, signal: AbortSignal): Promise<void> {
  const { addContext } = await contexts();
  const kubeconfig = await addContext(place, explicit, signal);
  const settings = readSettings(place);
  if (settings && settings.kubeconfig !== kubeconfig) writeSettings(place, { ...settings, kubeconfig });
}

export const nextWords = ({ context, name }: Place): string => {
  const which = name === "knarr" ? "" : ` --name=${name}`;
  return [
    `kubectl now speaks to it: its context is ${context}. What next?`,
    "",
    "  kubectl get nodes",
    "  kubectl create deployment web --image=nginx --replicas=3",
    `  knarr status${which}      how it is`,
    `  knarr logs -f${which}     what it says`,
    `  knarr down${which}        ends it and removes all that is left of it`,
  ].join("\n");
};
