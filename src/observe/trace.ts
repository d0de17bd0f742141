// Writes, joined by what caused them: from the request of a person down to the last status.
import type { WriteRecord } from "#wire/write-record.ts";

export interface Step {
  readonly write: WriteRecord;
  /** What was done because of it, in the order in which it happened. */
  readonly effects: readonly Step[];
}

/** The writes as trees. A write hangs under the newest of its causes that is known; one without is a root. */
export function traceTree(writes: readonly WriteRecord[]): readonly Step[] {
  const ordered = writes.toSorted((a, b) => a.revision - b.revision);
  const steps = new Map(ordered.map((write) => [write.revision, { write, effects: [] as Step[] }]));
  const roots: Step[] = [];
  for (const step of steps.values()) {
    const causes = step.write.because.map(({ revision }) => revision).filter((one) => one < step.write.revision);
    const parent = steps.get(causes.filter((one) => steps.has(one)).sort((a, b) => b - a)[0] ?? -1);
    (parent?.effects ?? roots).push(step);
  }
  return roots;
}

export interface TraceTextOptions {
  /** How many writes of one sort are shown below one cause, before the rest is only counted. */
  readonly alike: number;
}

/** One line for each write: when, what, and by whom. */
export function traceText(roots: readonly Step[], { alike }: TraceTextOptions): readonly string[] {
  const start = Math.min(...roots.map(({ write }) => write.at));
  const rows: Row[] = [];
  const visit = (steps: readonly Step[], indent: string, isRoot: boolean) => {
    const shown = foldAlike(steps, alike);
    shown.forEach((one, i) => {
      const isLast = i === shown.length - 1;
      const branch = isRoot ? "" : isLast ? "└─ " : "├─ ";
      const below = isRoot ? "" : indent + (isLast ? "   " : "│  ");
      if ("write" in one) {
        rows.push({
          time: since(one.write.at - start),
          what: `${indent}${branch}${whatOf(one.write)}`,
          who: whoOf(one),
        });
        visit(one.effects, below, false);
      } else
        rows.push({
          time: since(one.lastAt - start),
          what: `${indent}${branch}… ${one.count.toLocaleString("en")} more like it, the last one then`,
          who: "",
        });
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

interface Folded {
  readonly count: number;
  readonly lastAt: number;
}

/** The first few of each sort, and how many more there are where the sort ends. */
function foldAlike(steps: readonly Step[], alike: number): readonly (Step | Folded)[] {
  const sorts = Map.groupBy(steps, ({ write }) =>
    [write.verb, write.subresource, write.resource, write.user].join(" "),
  );
  const hidden = new Map<Step, Folded>();
  const left = new Set<Step>();
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

function whoOf({ write }: Step): string {
  const [actor, program] = [actorOf(write.user), programOf(write.userAgent)];
  const totalMs = Object.values(write.stages).reduce((sum, ms) => sum + ms, 0);
  return `${actor}${program && program !== actor ? ` (${program})` : ""}${totalMs > 0 ? `, ${milliseconds(totalMs)}` : ""}`;
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

const milliseconds = (ms: number): string => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;

export function since(ms: number): string {
  if (ms < 1000) return `+${Math.round(ms)} ms`;
  if (ms < 60_000) return `+${(ms / 1000).toFixed(1)} s`;
  return `+${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length));
