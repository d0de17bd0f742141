// Config maps and secrets that are made of files and literals (upstream: kustomize/api/internal/generators).
import { basename } from "node:path";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { KustomizeFolder } from "./kustomize-files.ts";
import { KustomizeResource } from "./kustomize-resource.ts";
import { listOf, type Section, textsOf } from "./sections.ts";

/** Adds what the generators make, or merges it into what is there. */
export function runGenerators(resources: KustomizeResource[], file: Section, folder: KustomizeFolder): void {
  const options = isObject(file.generatorOptions) ? file.generatorOptions : {};
  for (const kind of ["ConfigMap", "Secret"])
    for (const args of listOf(file, kind === "ConfigMap" ? "configMapGenerator" : "secretGenerator"))
      absorb(resources, generated(kind, args, merged(options, args.options), folder), stringIn(args.behavior));
}

/** Options of one generator count more than those of all. */
function merged(all: Section, own: unknown): Section {
  const one = isObject(own) ? own : {};
  const both = (key: string) => ({ ...textsOf(all, key), ...textsOf(one, key) });
  return { ...all, ...one, labels: both("labels"), annotations: both("annotations") };
}

function generated(kind: string, args: Section, options: Section, folder: KustomizeFolder): KustomizeResource {
  const name = stringIn(args.name);
  if (name === "")
    throw new KubectlError(`a ${kind === "Secret" ? "secretGenerator" : "configMapGenerator"} has no name`);
  const data: Record<string, Buffer> = {};
  const add = (key: string, value: Buffer) => {
    if (Object.hasOwn(data, key)) throw new KubectlError(`configmap ${name} illegally repeats the key \`${key}\``);
    data[key] = value;
  };
  for (const path of textList(args.envs).concat(textList(args.env)))
    for (const [key, value] of envPairs(folder.read(path).toString("utf8"))) add(key, Buffer.from(value));
  for (const source of textList(args.literals)) {
    const at = source.indexOf("=");
    if (at < 1) throw new KubectlError(`invalid literal source ${source}, expected key=value`);
    add(source.slice(0, at), Buffer.from(unquoted(source.slice(at + 1))));
  }
  for (const source of textList(args.files)) {
    const at = source.indexOf("=");
    const [key, path] = at < 0 ? [basename(source), source] : [source.slice(0, at), source.slice(at + 1)];
    if (key === "") throw new KubectlError(`missing key name for file path '${path}' in source '${source}'`);
    if (path === "") throw new KubectlError(`missing file path for key name '${key}' in source '${source}'`);
    add(key, folder.read(path));
  }
  const resource = new KustomizeResource(objectOf(kind, args, options, data));
  resource.needsHash = options.disableNameSuffixHash !== true;
  return resource;
}

function objectOf(kind: string, args: Section, options: Section, data: Readonly<Record<string, Buffer>>): KubeObject {
  const namespace = stringIn(args.namespace);
  const labels = textsOf(options, "labels");
  const annotations = textsOf(options, "annotations");
  const hasAny = (map: object) => Object.keys(map).length > 0;
  const isText = (value: Buffer) =>
    value.toString("utf8").isWellFormed() && Buffer.from(value.toString("utf8")).equals(value);
  const entries = Object.entries(data);
  const texts = Object.fromEntries(
    entries.filter(([, value]) => isText(value)).map(([key, value]) => [key, value.toString("utf8")]),
  );
  const bytes = (list: readonly (readonly [string, Buffer])[]) =>
    Object.fromEntries(list.map(([key, value]) => [key, value.toString("base64")]));
  const binary = bytes(entries.filter(([, value]) => !isText(value)));
  return {
    apiVersion: "v1",
    kind,
    metadata: {
      name: args.name,
      ...(namespace !== "" && { namespace }),
      ...(hasAny(labels) && { labels }),
      ...(hasAny(annotations) && { annotations }),
    },
    ...(kind === "Secret"
      ? { ...(entries.length > 0 && { data: bytes(entries) }), type: stringIn(args.type) || "Opaque" }
      : { ...(hasAny(texts) && { data: texts }), ...(hasAny(binary) && { binaryData: binary }) }),
    ...(options.immutable === true && { immutable: true }),
  };
}

const textList = (value: unknown): string[] =>
  (Array.isArray(value) ? value : value === undefined ? [] : [value]).map(String);

const unquoted = (text: string): string => (text.length > 1 && /^(".*"|'.*')$/s.test(text) ? text.slice(1, -1) : text);

/** `KEY=value` lines; comments and empty lines are left out. */
function envPairs(text: string): readonly (readonly [string, string])[] {
  return text
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/)
    .map((line) => line.trimStart())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    });
}

function absorb(resources: KustomizeResource[], made: KustomizeResource, behavior: string): void {
  const at = resources.findIndex(
    (one) =>
      one.kind === made.kind &&
      one.ids.some(({ name, namespace }) => name === made.name && namespace === made.namespace),
  );
  const present = resources[at];
  if (behavior === "" || behavior === "create" || behavior === "unspecified") {
    if (present) throw new KubectlError(`id ${made.label} exists; behavior must be merge or replace`);
    resources.push(made);
    return;
  }
  if (behavior !== "merge" && behavior !== "replace")
    throw new KubectlError(`behavior of a generator must be create, merge or replace, not ${behavior}`);
  if (!present) throw new KubectlError(`id ${made.label} does not exist; cannot merge or replace`);
  const { metadata: before, data: oldData, binaryData: oldBinary } = present.object;
  const both = (key: string) => ({ ...textsOf(before, key), ...textsOf(made.object.metadata, key) });
  const metadata = { ...metadataOf(present.object) };
  for (const key of ["labels", "annotations"])
    if (Object.keys(both(key)).length > 0) metadata[key as keyof typeof metadata] = both(key) as never;
  const data = (old: unknown, now: unknown) =>
    behavior === "merge" ? { ...(isObject(old) ? old : {}), ...(isObject(now) ? now : {}) } : now;
  present.object = {
    ...present.object,
    ...made.object,
    metadata,
    ...optional("data", data(oldData, made.object.data)),
    ...optional("binaryData", data(oldBinary, made.object.binaryData)),
  };
  present.needsHash = made.needsHash;
}

const optional = (key: string, value: unknown): object =>
  isObject(value) && Object.keys(value).length > 0 ? { [key]: value } : {};
