// Why a control plane in pods does not come up, while there is no API that could be asked: parts that end again and again leave a log for
// each try, `<node>/logs/kube-system_<pod>_<uid>/<container>/<try>.log`.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Parts may end while what they need is not there yet, but not as often as this. */
const mostTries = 3;
const shownLines = 3;

interface ContainerLogs {
  readonly container: string;
  readonly folder: string;
  /** Of the last try. */
  readonly number: number;
}

/** Made before the parts start; each call says what is known then, undefined if no part has ended again and again. */
export function failingPart(logs: string): () => string | undefined {
  const before = new Map([...logsIn(logs)].map(({ folder, number }) => [folder, number]));
  return () => {
    for (const { container, folder, number } of logsIn(logs)) {
      if (number - (before.get(folder) ?? -1) < mostTries) continue;
      const words = lastWords(join(folder, `${number - 1}.log`));
      return `${container} ends again and again; it said: ${words}`;
    }
    return undefined;
  };
}

function* logsIn(logs: string): Generator<ContainerLogs> {
  for (const pod of namesIn(logs).filter((name) => name.startsWith("kube-system_")))
    for (const container of namesIn(join(logs, pod))) {
      const folder = join(logs, pod, container);
      const numbers = namesIn(folder).flatMap((file) => /^(\d+)\.log$/.exec(file)?.[1] ?? []);
      if (numbers.length > 0) yield { container, folder, number: Math.max(...numbers.map(Number)) };
    }
}

const namesIn = (folder: string): readonly string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** Of lines such as `2026-01-01T00:00:00Z stderr F unknown flag`. */
function lastWords(file: string): string {
  if (!existsSync(file)) return "nothing";
  const lines = readFileSync(file, "utf8")
    .split("\n")
    .map((line) => line.split(" ").slice(3).join(" "))
    .filter((line) => line.trim() !== "");
  return lines.slice(-shownLines).join(" | ") || "nothing";
}
