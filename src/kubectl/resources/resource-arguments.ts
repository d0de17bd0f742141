// `TYPE[,TYPE]`, `TYPE NAME...`, `TYPE,TYPE NAME...` and `TYPE/NAME...` (upstream: cli-runtime/pkg/resource/builder.go).
import { KubectlError } from "../errors.ts";

export interface TypedName {
  readonly type: string;
  readonly name: string;
}

/** Throws KubectlError. */
export function splitArguments(args: readonly string[]): {
  readonly types: readonly string[];
  readonly names: readonly string[];
  readonly combined: readonly TypedName[];
} {
  const normalized = normalize(args);
  const slashes = normalized.filter((arg) => arg.includes("/")).length;
  if (slashes > 0) {
    if (slashes !== normalized.length)
      throw new KubectlError(
        "there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
      );
    return { types: [], names: [], combined: normalized.map(splitTypeName) };
  }
  const [first, ...names] = normalized;
  return { types: first === undefined ? [] : unique(first), names, combined: [] };
}

/** Names of a type that needs not be said. */
export const combinedNames = (args: readonly string[], type: string): readonly TypedName[] =>
  args.map((arg) => (arg.includes("/") ? splitTypeName(arg) : { type, name: arg }));

/** Whether objects are named, not only types. */
export function hasNames(args: readonly string[]): boolean {
  const { names, combined } = splitArguments(args);
  return names.length > 0 || combined.length > 0;
}

const unique = (arg: string): readonly string[] => [...new Set(arg.split(","))];

/** `a,b c` means `a/c b/c`. */
function normalize(args: readonly string[]): readonly string[] {
  const [first = "", ...names] = args;
  const types = unique(first);
  return names.length > 0 && types.length > 1 ? types.flatMap((type) => names.map((name) => `${type}/${name}`)) : args;
}

function splitTypeName(arg: string): TypedName {
  const [type = "", name = "", ...rest] = arg.split("/");
  if (rest.length > 0) throw new KubectlError("arguments in resource/name form may not have more than one slash");
  if (type === "" || name === "" || unique(type).length !== 1)
    throw new KubectlError("arguments in resource/name form must have a single resource and name");
  return { type, name };
}
