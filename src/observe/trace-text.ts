// A trace for a terminal: a line for each write, under the one that caused it, and one for each thing a node did before it wrote.
import type { DoneStep } from "#wire/steps.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import type { Milestone, TraceStep } from "./trace.ts";

export interface TraceTextOptions {
  /** How many writes of one sort are shown below one cause, before the rest is only counted. */
  readonly alike: number;
}

/** One line for each write: when, what, and by whom. */
export function traceText(roots: readonly TraceStep[], { alike }: TraceTextOptions): readonly string[] {
  const start = Math.min(...roots.map(({ write }) => write.at));
  const rows: Row[] = [];
  const visit = (steps: readonly TraceStep[], indent: string, isRoot: boolean) => {
    const lines = steps.length === 0 ? [] : foldAlike(steps, alike).flatMap(withNodeSteps);
    lines.forEach((one, i) => {
      const isLast = i === lines.length - 1;
      const branch = isRoot ? "" : isLast ? "└─ " : "├─ ";
      rows.push({ ...rowOf(one, start), what: `${indent}${branch}${rowOf(one, start).what}` });
      if ("write" in one) visit(one.effects, isRoot ? "" : indent + (isLast ? "   " : "│  "), false);
    });
  };
  visit(roots, "", true);
  const [time, what] = [widest(rows.map((row) => row.time)), widest(rows.map((row) => row.what))];
  return rows.map((row) => `${row.time.padStart(time)}  ${row.what.padEnd(what)}  ${row.who}`.trimEnd());
}

interface Row {
  readonly time: string;
  readonly what: string;
  readonly who: string;
}

interface FoldedWrites {
  readonly count: number;
  readonly lastAt: number;
}

interface NodeStep {
  readonly done: DoneStep;
  readonly by: string;
}

type Line = TraceStep | FoldedWrites | NodeStep;

const withNodeSteps = (line: TraceStep | FoldedWrites): readonly Line[] =>
  "write" in line ? [...(line.write.steps ?? []).map((done) => ({ done, by: line.write.user })), line] : [line];

function rowOf(line: Line, start: number): Row {
  if ("count" in line)
    return {
      time: since(line.lastAt - start),
      what: `… ${line.count.toLocaleString("en")} more like it, the last one then`,
      who: "",
    };
  if ("done" in line) {
    const { at, ms } = line.done;
    const took = ms >= 0.05 ? `, ${milliseconds(ms)}` : "";
    return { time: since(at - start), what: stepText(line.done), who: `${actorOf(line.by)}${took}` };
  }
  return { time: since(line.write.at - start), what: whatOf(line.write), who: whoOf(line.write) };
}

const stepTexts: Readonly<Record<DoneStep["step"], (container: string) => string>> = {
  sandbox: () => "sandbox made",
  "image-present": (container) => `image of ${container} is there`,
  "image-pulled": (container) => `image of ${container} pulled`,
  create: (container) => `container ${container} created`,
  start: (container) => `container ${container} started`,
  ready: () => "pod ready",
  end: (container) => `container ${container} ended`,
};

const stepText = ({ step, container = "" }: DoneStep): string => stepTexts[step](container);

/** The first few of each sort, and how many more there are where the sort ends. */
function foldAlike(steps: readonly TraceStep[], alike: number): readonly (TraceStep | FoldedWrites)[] {
  const sorts = Map.groupBy(steps, ({ write }) =>
    [write.verb, write.subresource, write.resource, write.user].join(" "),
  );
  const hidden = new Map<TraceStep, FoldedWrites>();
  const left = new Set<TraceStep>();
  for (const sort of sorts.values()) {
    if (sort.length <= alike + 1) continue; // a line that hides one line saves none
    const rest = sort.slice(alike);
    for (const step of rest) left.add(step);
    const last = rest.at(-1);
    const shown = sort[alike - 1];
    if (last && shown) hidden.set(shown, { count: rest.length, lastAt: last.write.at });
  }
  return steps.flatMap((step) => {
    if (left.has(step)) return [];
    const folded = hidden.get(step);
    return folded ? [step, folded] : [step];
  });
}

export const whatOf = ({ verb, resource, subresource, name }: WriteRecord): string =>
  `${verb} ${resource}/${name}${subresource ? ` (${subresource})` : ""}`;

/** A service account by its name alone: its controller is called so, too. */
export const actorOf = (user: string): string =>
  user.replace(/^system:serviceaccount:kube-system:/, "").replace(/^system:(?=kube-)/, "");

const programOf = (userAgent: string): string => userAgent.split(/[/ ]/)[0] ?? "";

function whoOf({ user, userAgent, stages }: WriteRecord): string {
  const [actor, program] = [actorOf(user), programOf(userAgent)];
  const isPart = user.startsWith("system:"); // what it is says its name already
  const totalMs = Object.values(stages).reduce((sum, ms) => sum + ms, 0);
  return `${actor}${program && !isPart && program !== actor ? ` (${program})` : ""}${totalMs > 0 ? `, ${milliseconds(totalMs)}` : ""}`;
}

/** Where the time of a request went, longest first; what took less than a tenth of it is left out. */
export function stagesText({ stages }: WriteRecord): string {
  const totalMs = Object.values(stages).reduce((sum, ms) => sum + ms, 0);
  return Object.entries(stages)
    .filter(([, ms]) => ms >= totalMs / 10)
    .sort(([, a], [, b]) => b - a)
    .map(([stage, ms]) => `${stage} ${milliseconds(ms)}`)
    .join(", ");
}

/** `3 pods: created +82 ms to +101 ms, bound …`, counted from the first write. */
export function milestonesText(reached: readonly Milestone[], start: number): readonly string[] {
  const rows = reached.map(({ name, pods, firstAt, lastAt }) => ({
    name,
    count: `${pods.toLocaleString("en")} ${pods === 1 ? "pod" : "pods"}`,
    times: firstAt === lastAt ? since(lastAt - start) : `${since(firstAt - start)} to ${since(lastAt - start)}`,
  }));
  const [name, count] = [widest(rows.map((row) => row.name)), widest(rows.map((row) => row.count))];
  return rows.map((row) => `  ${row.name.padEnd(name)}  ${row.count.padStart(count)}  ${row.times}`);
}

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

export function since(ms: number): string {
  if (ms < 1000) return `+${Math.round(ms)} ms`;
  if (ms < 60_000) return `+${(ms / 1000).toFixed(1)} s`;
  return `+${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length));
