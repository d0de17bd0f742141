// A transcript alternates commands and what they print:
//
//   $ kubectl create configmap a        a command; lines that start with "> " continue it
//   configmap/a created                 what it prints on both streams, with what varies replaced (see `steady`)
//   exit 1                              only when it fails
//   1.27+$ kubectl events               a command for kubectls from that version on
//   1.20$ kubectl version               a command for kubectls up to that version
//
// Lines that start with "## " before a command are comments. Runs under bash, all commands of a file in one folder.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { systemClock } from "#base/clock.ts";

export interface Step {
  /** Blank lines and comments before the command, as they stand. */
  readonly before: string;
  /** Like "1.27+" or "1.20"; empty for all versions. */
  readonly versions: string;
  readonly command: string;
  readonly expected: string;
}

export function parseTranscript(text: string): readonly Step[] {
  const steps: { before: string; versions: string; command: string; expected: string }[] = [];
  let before: string[] = [];
  for (const line of text.split("\n").slice(0, -1)) {
    const step = steps.at(-1);
    const continues = step && step.expected === "" && before.length === 0;
    const [, versions, command] = /^(1\.\d+\+?)?\$ (.*)$/.exec(line) ?? [];
    if (command !== undefined) {
      const comments = before.map((one) => `${one}\n`).join("");
      steps.push({ before: comments, versions: versions ?? "", command, expected: "" });
      before = [];
    } else if (line.startsWith("> ") && continues) step.command += `\n${line.slice(2)}`;
    else if (line === ">" && continues) step.command += "\n";
    else if (line === "" || line.startsWith("## ") || !step || before.length > 0) before.push(line);
    else step.expected += `${line}\n`;
  }
  return steps;
}

export const formatTranscript = (steps: readonly Step[]): string =>
  steps
    .map(({ before, versions, command, expected }) => {
      const lines = command.replaceAll("\n", "\n> ").replaceAll(/ +$/gm, "");
      return `${before}${versions}$ ${lines}\n${expected}`;
    })
    .join("");

/** Longer than any command of a transcript waits by itself. */
const LONGEST_COMMAND_MS = 180_000;

export interface Shell {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
}

/** What the command prints, both streams in the order of writing, and its exit code if it fails. */
export async function runCommand(command: string, { folder, env }: Shell): Promise<string> {
  const child = spawn("bash", ["-c", `exec 2>&1\n${prelude}\n${command}`], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
    detached: true, // a group of its own, so that nothing it started outlives it
  });
  const cancel = systemClock.after(LONGEST_COMMAND_MS, () => process.kill(-(child.pid ?? 0), "SIGKILL"));
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk) => chunks.push(chunk));
  const [code, signal] = await once(child, "close");
  cancel();
  const output = Buffer.concat(chunks).toString();
  const ended = output === "" || output.endsWith("\n") ? "" : "\n";
  return `${output}${ended}${code === 0 ? "" : `exit ${code ?? signal}\n`}`;
}

/** What a command prints that only looks: typed again, as a person would, for what takes a moment to come about. */
export async function typedAgain(
  type: () => Promise<string>,
  isRight: (output: string) => boolean,
  patienceMs = 60_000,
): Promise<string> {
  const end = systemClock.elapsed() + patienceMs;
  for (;;) {
    const output = await type();
    if (isRight(output) || systemClock.elapsed() > end) return output;
    await systemClock.sleep(200, new AbortController().signal);
  }
}

/**
 * `first N COMMAND…` runs a command that does not end by itself until it has printed N lines.
 * `seen PATTERN WHAT…` watches until a line like this is printed, and shows that line. One object is watched as a list of one: kubectl
 * does not show the first event of a watch by name, which is a change if there was one since kubectl looked.
 * `count N WHAT…` looks until there are N: what is reported beside the work, as events are, comes a little later.
 * `gone WHAT…` looks until there is nothing of the kind any more, and shows that.
 */
const prelude = `first() {
  local n=$1 line; shift
  coproc "$@"
  while ((n-- > 0)) && read -r line; do echo "$line"; done <&"\${COPROC[0]}"
  kill "$COPROC_PID"
}
seen() {
  local pattern=$1 line; shift
  [[ \${2:--} == -* ]] || set -- "$1" --field-selector="metadata.name=$2" "\${@:3}"
  coproc kubectl get "$@" --watch 2>/dev/null
  while read -r line; do [[ $line =~ $pattern ]] && echo "$line" && break; done <&"\${COPROC[0]}"
  kill "$COPROC_PID"
}
count() {
  local n=$1 end=$((SECONDS + 120)); shift
  until (( $(kubectl get "$@" --output=name 2>/dev/null | wc -l) == n || SECONDS > end )); do sleep 0.1; done
}
gone() {
  count 0 "$@"
  kubectl get "$@"
}`;

/** Output with all that differs from run to run, or only in words from version to version, replaced. */
export function steady(output: string, { folder, url }: { readonly folder: string; readonly url: string }): string {
  let text = output.replaceAll(folder, "<folder>").replaceAll(url, "<server>");
  for (const [pattern, replacement] of varying) text = text.replaceAll(pattern, replacement);
  text = text.replaceAll(/[ \t]+$/gm, "");
  // A transcript's blank lines belong to the comments between commands.
  return text.replaceAll(/\n(?=\n)/g, "\n·").replace(/^\n/, "·\n");
}

const varying: readonly (readonly [RegExp, string])[] = [
  [/127\.0\.0\.1:\d+/g, "<address>"],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uid>"],
  [/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "<time>"],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>"],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC/g, "<time>"],
  [/^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ (\w+\.go):\d+\]/gm, "$1 $2]"],
  [/(resourceVersion\\*"?: *\\*")\d+/g, "$1<version>"],
  [/(resourceVersion=|Resource Version: +)\d+/g, "$1<version>"],
  [/(generated-)[a-z0-9]{5}\b/g, "$1<suffix>"],
  [/(\s)(?:\d{1,3}s|[1-9]m(?:\d{1,2}s)?|\d+d)(?=\s|$)/gm, "$1<age>"],
  // Columns are as wide as their widest cell, and that may be an age.
  [/(\S) {2,}(?=\S)/g, "$1   "],
  [/X509SHA256=[0-9a-f]+/g, "X509SHA256=<hash>"],
  // Words that differ between versions of kubectl.
  [/^warning: /gim, "Warning: "],
  [/ annotate$/gm, " annotated"],
  [/ unlabeled$/gm, " labeled"],
  [/^ +(Node-Selectors|Tolerations):[ \t]+<none>\n/gm, ""],
  [/( deleted) from \S+ namespace/g, "$1"],
];
