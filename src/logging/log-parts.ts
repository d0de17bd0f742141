// The files of one log, in the order in which they were written: `0.log.20260101-000000.gz`, `0.log.20260102-000000`, `0.log`.

export interface LogPart {
  readonly name: string;
  /** Its name without that of the compression: a part keeps it when it is compressed. */
  readonly stem: string;
  readonly isCompressed: boolean;
}

const compressed = ".gz";
const unfinished = ".tmp";

/** Of all names in the folder, those that are parts of the log; the oldest first, the one that grows last. */
export function logParts(names: readonly string[], log: string): readonly LogPart[] {
  const parts = new Map<string, LogPart>();
  for (const name of names.toSorted()) {
    if (!name.startsWith(`${log}.`) || name.endsWith(unfinished)) continue;
    const isCompressed = name.endsWith(compressed);
    const stem = isCompressed ? name.slice(0, -compressed.length) : name;
    // While one is compressed there are both for a moment. The plain one sorts first, and can be read from any position.
    if (!parts.has(stem)) parts.set(stem, { name, stem, isCompressed });
  }
  const rotated = [...parts.values()];
  return names.includes(log) ? [...rotated, { name: log, stem: log, isCompressed: false }] : rotated;
}

/** The logs of a container's runs among the names in its folder: `0.log`, `1.log`. */
export const runsIn = (names: readonly string[]): readonly string[] => {
  const runs = new Set(names.flatMap((name) => /^(\d+\.log)(?:$|\.)/.exec(name)?.[1] ?? []));
  return [...runs].toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10));
};

export interface PodFolder {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
}

/** What the name of a pod's folder says: `namespace_pod_uid`. */
export function podFolder(name: string): PodFolder | undefined {
  const [namespace, pod, uid, ...more] = name.split("_");
  return namespace && pod && uid && more.length === 0 ? { namespace, pod, uid } : undefined;
}
