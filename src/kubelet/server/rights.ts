// Which permission on the node a request to its kubelet needs, as upstream's pkg/kubelet/server/auth.go decides it.

/** The subresources of the node of which one suffices: the narrow one of a path, and the one that stands for all of them. */
export interface Rights {
  readonly verb: string;
  readonly subresources: readonly string[];
}

const verbs = new Map([
  ["GET", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"],
]);

const subresources = new Map([
  ["pods", ["pods", "proxy"]],
  ["runningpods", ["pods", "proxy"]],
  ["healthz", ["healthz", "proxy"]],
  ["configz", ["configz", "proxy"]],
  ["stats", ["stats"]],
  ["metrics", ["metrics"]],
  ["logs", ["log"]],
  ["checkpoint", ["checkpoint"]],
  ["statusz", ["statusz"]],
  ["flagz", ["configz"]],
]);

/**
 * By the same word of the path that decides who answers, so that no spelling is asked about as one thing and served as another. What runs
 * commands takes the right to create by any method, where upstream takes the method's: a WebSocket begins with a GET, and a right to read is none to
 * run.
 */
export function rightsFor(method: string, path: string): Rights {
  const word = wordsOf(path)?.[0] ?? "";
  const verb = verbs.get(method) ?? "";
  return {
    verb: verb !== "" && runsCommands(word) ? "create" : verb,
    subresources: subresources.get(word) ?? ["proxy"],
  };
}

const runsCommands = (word: string): boolean => ["exec", "attach", "run", "portForward"].includes(word);

/** The words of a path between its slashes; undefined if it is not escaped properly. */
export function wordsOf(path: string): readonly string[] | undefined {
  try {
    return path.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined; // decodeURIComponent says no more than that
  }
}
