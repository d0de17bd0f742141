// Values that are copied from one object into others (upstream: kustomize/api/filters/replacement).
import { isObject } from "#base/is-object.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { KubectlError } from "../errors.ts";
import { stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { KustomizeFolder } from "./kustomize-files.ts";
import type { KustomizeResource } from "./kustomize-resource.ts";
import { listOf, type Section, textsIn } from "./sections.ts";
import { matcherOf } from "./selectors.ts";

export function runReplacements(resources: readonly KustomizeResource[], file: Section, folder: KustomizeFolder): void {
  for (const entry of listOf(file, "replacements")) {
    const path = stringIn(entry.path);
    const inside = path === "" ? entry : parseYaml(folder.read(path).toString("utf8")).exactValue();
    for (const one of Array.isArray(inside) ? inside : [inside]) if (isObject(one)) replace(resources, one);
  }
}

function replace(resources: readonly KustomizeResource[], { source, sourceValue, targets, ...rest }: Section): void {
  const value = sourceValue ?? sourceValueOf(resources, source);
  if (!Array.isArray(targets))
    throw new KubectlError(`replacements must specify a source and at least one target: ${JSON.stringify(rest)}`);
  for (const target of listOf({ targets }, "targets")) {
    const { select } = target;
    if (!isObject(select)) throw new KubectlError("target must specify resources to select");
    const rejects = listOf(target, "reject").map(exactMatcher);
    const options = isObject(target.options) ? target.options : {};
    const paths = textsIn(target, "fieldPaths");
    for (const resource of resources.filter(exactMatcher(select)))
      if (!rejects.some((isRejected) => isRejected(resource)))
        for (const path of paths.length === 0 ? ["metadata.name"] : paths)
          resource.object = setAt(resource.object, fieldPath(path), value, options, path) as KubeObject;
  }
}

/** Names are plain here, no expressions. */
const exactMatcher = (select: Section): ((resource: KustomizeResource) => boolean) => {
  const { labelSelector, annotationSelector, ...plain } = select;
  const matches = matcherOf({
    ...(labelSelector !== undefined && { labelSelector }),
    ...(annotationSelector !== undefined && { annotationSelector }),
  });
  const isWanted = (key: string, value: string) =>
    plain[key] === undefined || plain[key] === "" || plain[key] === value;
  return (resource) =>
    isWanted("group", resource.group) &&
    isWanted("version", resource.version) &&
    isWanted("kind", resource.kind) &&
    resource.ids.some(({ name }) => isWanted("name", name)) &&
    resource.ids.some(({ namespace }) => isWanted("namespace", namespace)) &&
    matches(resource);
};

function sourceValueOf(resources: readonly KustomizeResource[], source: unknown): unknown {
  if (!isObject(source)) throw new KubectlError("replacements must specify a source and at least one target");
  const found = resources.filter(exactMatcher(source));
  const [only] = found;
  const shown = `${stringIn(source.kind) || "[noKind]"}.${stringIn(source.version) || "[noVer]"}.${stringIn(source.group) || "[noGrp]"}/${stringIn(source.name) || "[noName]"}.${stringIn(source.namespace) || "[noNs]"}`;
  if (!only) throw new KubectlError(`nothing selected by ${shown}:${stringIn(source.fieldPath) || "metadata.name"}`);
  if (found.length > 1) throw new KubectlError(`multiple matches for selector ${shown}:${stringIn(source.fieldPath)}`);
  const path = stringIn(source.fieldPath) || "metadata.name";
  const value = valueAt(only.object, fieldPath(path));
  if (value === undefined) throw new KubectlError(`fieldPath \`${path}\` is missing for replacement source ${shown}`);
  const { options } = source;
  const delimiter = isObject(options) ? stringIn(options.delimiter) : "";
  if (delimiter === "") return value;
  const index = isObject(options) && typeof options.index === "number" ? options.index : 0;
  const part = String(value).split(delimiter)[index];
  if (part === undefined) throw new KubectlError(`options.index ${index} is out of bounds for value ${String(value)}`);
  return part;
}

type PathStep = string | { readonly key: string; readonly value: string };

/** `spec.containers.[name=web].env.0.value`; a dot after a backslash is part of a name. */
export function fieldPath(text: string): readonly PathStep[] {
  const parts = text.match(/\[[^\]]*\]|(?:\\.|[^.[\\])+/g) ?? [];
  return parts.map((part) => {
    const [, key, value] = /^\[([^=\]]+)=(.*)\]$/.exec(part) ?? [];
    if (key !== undefined && value !== undefined) return { key, value };
    return part.replace(/^\[(.*)\]$/, "$1").replace(/\\(.)/g, "$1");
  });
}

function valueAt(value: unknown, [step, ...rest]: readonly PathStep[]): unknown {
  if (step === undefined) return value;
  if (Array.isArray(value)) {
    const item =
      typeof step === "string"
        ? value[Number(step)]
        : value.find((one) => isObject(one) && String(one[step.key]) === step.value);
    return valueAt(item, rest);
  }
  return isObject(value) && typeof step === "string" && Object.hasOwn(value, step)
    ? valueAt(value[step], rest)
    : undefined;
}

function setAt(
  value: unknown,
  [step, ...rest]: readonly PathStep[],
  replacement: unknown,
  options: Section,
  path: string,
): unknown {
  if (step === undefined) return replaced(value, replacement, options);
  const missing = () => new KubectlError(`unable to find field ${JSON.stringify(path)} in replacement target`);
  if (Array.isArray(value)) {
    const isMeant = (item: unknown, i: number) =>
      step === "*" ||
      (typeof step === "string" ? i === Number(step) : isObject(item) && String(item[step.key]) === step.value);
    if (!value.some(isMeant)) {
      if (options.create === true && typeof step !== "string")
        return [...value, setAt({ [step.key]: step.value }, rest, replacement, options, path)];
      throw missing();
    }
    return value.map((item, i) => (isMeant(item, i) ? setAt(item, rest, replacement, options, path) : item));
  }
  if (typeof step !== "string" || !(isObject(value) || (value === undefined && options.create === true)))
    throw missing();
  const present = isObject(value) ? value : {};
  if (!Object.hasOwn(present, step) && options.create !== true) throw missing();
  return { ...present, [step]: setAt(present[step], rest, replacement, options, path) };
}

/** With a delimiter, one part of the text is replaced. */
function replaced(present: unknown, replacement: unknown, options: Section): unknown {
  const delimiter = stringIn(options.delimiter);
  if (delimiter === "")
    return typeof present === "string" && typeof replacement === "number" ? String(replacement) : replacement;
  const parts = String(present ?? "").split(delimiter);
  const index = typeof options.index === "number" ? options.index : 0;
  if (index < 0) parts.unshift(String(replacement));
  else if (index >= parts.length) parts.push(String(replacement));
  else parts[index] = String(replacement);
  return parts.join(delimiter);
}
