// What paths in volumes must look like. Files reach the host through them, so none may climb out of its folder.
// Upstream: pkg/apis/core/validation/validation.go.
import { invalid, type Problem } from "#schema/index.ts";
import { none } from "./problems.ts";

export const isAbsolute = (path: string): boolean => path.startsWith("/");

export const noBacksteps = (at: string, path: string): readonly Problem[] =>
  path.includes("..") && path.split("/").includes("..") ? [invalid(at, "must not contain '..'", path)] : none;

/** A path below some folder. */
export const descending = (at: string, path: string): readonly Problem[] =>
  isAbsolute(path) ? [invalid(at, "must be a relative path", path), ...noBacksteps(at, path)] : noBacksteps(at, path);

/** A path below a volume's folder whose names do not look like those the kubelet makes there (`..data`). */
export function* notReserved(at: string, path: string): Iterable<Problem> {
  yield* descending(at, path);
  if (path.startsWith("..") && !path.startsWith("../")) yield invalid(at, "must not start with '..'", path);
}

export const fileMode = (at: string, mode: number | undefined): readonly Problem[] =>
  mode !== undefined && (mode < 0 || mode > 0o777)
    ? [invalid(at, "must be a number between 0 and 0777 (octal), both inclusive", mode)]
    : none;
