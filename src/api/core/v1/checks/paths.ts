// What paths in volumes must look like. Files reach the host through them, so none may climb out of its folder.
import { invalid, type Problem } from "#schema/index.ts";

export const isAbsolute = (path: string): boolean => path.startsWith("/");

export function* noBacksteps(at: string, path: string): Iterable<Problem> {
  if (path.split("/").includes("..")) yield invalid(at, "must not contain '..'", path);
}

/** A path below some folder. */
export function* descending(at: string, path: string): Iterable<Problem> {
  if (isAbsolute(path)) yield invalid(at, "must be a relative path", path);
  yield* noBacksteps(at, path);
}

/** A path below a volume's folder whose names do not look like those the kubelet makes there (`..data`). */
export function* notReserved(at: string, path: string): Iterable<Problem> {
  yield* descending(at, path);
  if (path.startsWith("..") && !path.startsWith("../")) yield invalid(at, "must not start with '..'", path);
}

export function* fileMode(at: string, mode: number | undefined): Iterable<Problem> {
  if (mode !== undefined && (mode < 0 || mode > 0o777))
    yield invalid(at, "must be a number between 0 and 0777 (octal), both inclusive", mode);
}
