// The steps that a node took before it wrote a status, in a header of that write: `Knarr-Steps: sandbox@1767225600123+12,start/web@…`.
// Events report the same to people, but in whole seconds; a trace needs to know which step took the time.

const stepNames = ["sandbox", "image-present", "image-pulled", "create", "start", "ready", "end"] as const;
export type StepName = (typeof stepNames)[number];

export interface DoneStep {
  readonly step: StepName;
  /** The container it was done for; defaults to the pod. */
  readonly container?: string;
  /** When it was over, in milliseconds since 1970. */
  readonly at: number;
  /** How long it took; 0 of what takes no time. */
  readonly ms: number;
}

const most = 64;

export const formatSteps = (steps: readonly DoneStep[]): string =>
  steps
    .slice(-most)
    .map(({ step, container, at, ms }) => {
      const tookMs = Math.round(ms * 10) / 10;
      return `${step}${container === undefined ? "" : `/${container}`}@${Math.round(at)}${tookMs > 0 ? `+${tookMs}` : ""}`;
    })
    .join(",");

const names: ReadonlySet<string> = new Set(stepNames);
const isStepName = (text: string): text is StepName => names.has(text);
const pattern = /^([a-z-]+)(?:\/([a-z0-9-]{1,63}))?@(\d{1,15})(?:\+(\d{1,12}(?:\.\d)?))?$/;

/** Malformed steps are left out: a wrong step must not fail a valid write. */
export function parseSteps(text: string): readonly DoneStep[] {
  return text.split(",", most).flatMap((part) => {
    const [, step = "", container, at = "", ms = "0"] = pattern.exec(part.trim()) ?? [];
    if (!isStepName(step)) return [];
    return [{ step, ...(container !== undefined && { container }), at: Number(at), ms: Number(ms) }];
  });
}
