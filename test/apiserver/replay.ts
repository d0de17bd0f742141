// Transcripts held against what kubectls print, or rewritten from it.
// KNARR_UPDATE=1 rewrites what is expected from what the newest kubectl gets; the reviewer reads the diff.
// KNARR_TRANSCRIPT=name runs only that file; KNARR_KUBECTLS=all runs every kubectl found, or names versions.
import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { findKubectls, type Kubectl, minorOf } from "./kubectls.ts";
import { formatTranscript, parseTranscript, runCommand, type Shell, type Step, typedAgain } from "./transcript.ts";

/** Where the commands of a file run. */
export interface Stage extends Shell, AsyncDisposable {
  /** What a command has printed, with all that varies replaced. */
  steady(output: string): string;
  /** Whether what is looked at may come in its own time: then what only looks is typed again until it shows what is expected. */
  readonly takesTime?: boolean;
}

export type OpenStage = (kubectl: Kubectl) => Promise<Stage>;

export const kubectls = findKubectls();

const isUpdate = Boolean(process.env.KNARR_UPDATE);

export function transcriptsIn(folder: string): readonly string[] {
  return globSync(join(folder, `${process.env.KNARR_TRANSCRIPT ?? "*"}.txt`)).toSorted();
}

/** The oldest and the newest, and of those between the one that has its turn. */
export function chosenKubectls(turn: number): readonly Kubectl[] {
  const wanted = process.env.KNARR_KUBECTLS;
  if (wanted !== undefined) return kubectls.filter(({ version }) => wanted === "all" || wanted.includes(version));
  const between = kubectls.slice(1, -1);
  const chosen = [kubectls.at(0), between.at(turn % Math.max(1, between.length)), kubectls.at(-1)];
  return [...new Set(chosen)].filter((one) => one !== undefined);
}

export async function replay(file: string, kubectl: Kubectl, open: OpenStage): Promise<void> {
  const steps = parseTranscript(readFileSync(file, "utf8"));
  assert.ok(steps.length > 0, `${file} has no command`);
  const wrong: string[] = [];
  for await (const { step, output } of run(steps, kubectl, open, isExpected)) {
    if (isExpected(step, output)) continue;
    wrong.push(`$ ${step.command}\n--- expected\n${step.expected}--- got\n${output}`);
  }
  assert.equal(wrong.length, 0, `with kubectl ${kubectl.version}\n\n${wrong.join("\n")}`);
}

const isExpected = ({ expected }: Step, output: string): boolean => output === expected;

/** Those that transcripts are rewritten with: the oldest first, so that what all versions run is written as the newest prints it. */
export const rewriters: readonly Kubectl[] = isUpdate
  ? [...new Set([...kubectls.slice(0, 1), ...kubectls.slice(-1)])]
  : [];

export async function rewrite(file: string, kubectl: Kubectl, open: OpenStage): Promise<void> {
  const steps = parseTranscript(readFileSync(file, "utf8"));
  const outputs = new Map<Step, string>();
  for await (const { step, output } of run(steps, kubectl, open)) outputs.set(step, output);
  const rewritten = steps.map((step) => ({ ...step, expected: outputs.get(step) ?? step.expected }));
  writeFileSync(file, formatTranscript(rewritten));
}

const concerns = ({ versions }: Step, { version }: Kubectl): boolean => {
  if (versions === "") return true;
  const difference = minorOf(version) - minorOf(versions);
  return versions.endsWith("+") ? difference >= 0 : difference <= 0;
};

async function* run(
  steps: readonly Step[],
  kubectl: Kubectl,
  open: OpenStage,
  isRight: (step: Step, output: string) => boolean = () => true,
): AsyncGenerator<{ readonly step: Step; readonly output: string }> {
  await using stage = await open(kubectl);
  for (const step of steps) {
    if (!concerns(step, kubectl)) continue;
    const type = async () => {
      const output = await runCommand(step.command, stage);
      return stage.steady(losesStreams(output) ? await runCommand(step.command, stage) : output);
    };
    const mayRepeat = stage.takesTime && onlyLooks(step.command);
    yield { step, output: await (mayRepeat ? typedAgain(type, (output) => isRight(step, output)) : type()) };
  }
}

/** Before 1.34 a kubectl that is busy throws away what a WebSocket brings in the moment before it is ready for it, and says so. */
export const losesStreams = (output: string): boolean =>
  /websocket\.go.*Unknown stream id \d+, discarding message/.test(output);

const onlyLooks = (command: string): boolean =>
  /^(kubectl (get|describe|logs|top|rollout history)|knarr (trace|why)) /.test(command) && !/ (&&|>) /.test(command);

/** A home for the commands, and what is the same wherever they run. */
export function makeHome(folder: string, kubectl: Kubectl): Shell {
  const [home, bin] = [join(folder, "home"), join(folder, "bin")];
  for (const made of [home, bin]) mkdirSync(made, { recursive: true });
  symlinkSync(kubectl.path, join(bin, "kubectl"));
  return {
    folder: home,
    env: { PATH: [bin, process.env.PATH].join(delimiter), HOME: home, TZ: "UTC", LC_ALL: "C.UTF-8" },
  };
}
