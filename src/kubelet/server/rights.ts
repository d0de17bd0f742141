// What someone must be allowed to do with the node, to ask its kubelet for something.

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

/** By the same word of the path that decides who answers, so that no spelling is asked about as one thing and served as another. */
export const rightsFor = (method: string, path: string): Rights => ({
  verb: verbs.get(method) ?? "",
  subresources: subresources.get(wordsOf(path)?.[0] ?? "") ?? ["proxy"],
});

/** The words of a path between its slashes; undefined if it is not escaped properly. */
export function wordsOf(path: string): readonly string[] | undefined {
  try {
    return path.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined; // decodeURIComponent says no more than that
  }
}
