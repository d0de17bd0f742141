// Names that a server or a kubeconfig knows (upstream: kubectl/pkg/util/completion).
import { isObject } from "#base/is-object.ts";
import { loadConfigFiles } from "../client-config.ts";
import { resourceName } from "../discovery/rest-mapper.ts";
import { metadataOf, resourcePath, stringIn } from "../resources/resource-info.ts";
import type { Session } from "../session.ts";
import { containersOf, podMapping } from "../workloads/pods.ts";
import type { ArgumentSubject } from "./subjects.ts";

export interface Candidates {
  readonly words: readonly string[];
  /** Whether another word may be typed behind a candidate without a space. */
  readonly isOpen?: boolean;
  /** Whether files of this machine may be meant as well. */
  readonly hasFiles?: boolean;
}

/** What may stand where `typed` was begun. */
export async function candidatesFor(
  session: Session,
  subject: ArgumentSubject,
  args: readonly string[],
  typed: string,
): Promise<Candidates> {
  switch (subject.type) {
    case "words":
      return { words: args.length === 0 ? subject.words : [] };
    case "config":
      return { words: args.length === 0 ? await configNames(session, subject.list) : [] };
    case "types":
      return { words: args.length === 0 ? await typeNames(session) : [] };
    case "names":
      return {
        words: subject.isSingle && args.length > 0 ? [] : without(args, await names(session, subject.resource)),
      };
    case "pods":
      return podOrOther(session, subject.others, args, typed);
    case "copies":
      return copies(session, args, typed);
    case "any":
      return anyObject(session, args, typed);
  }
}

const without = (args: readonly string[], words: readonly string[]): readonly string[] =>
  words.filter((word) => !args.includes(word));

async function anyObject(session: Session, args: readonly string[], typed: string): Promise<Candidates> {
  const slash = typed.indexOf("/");
  if (slash > 0) return { words: await slashed(session, typed.slice(0, slash)) };
  const [type] = args;
  if (type !== undefined && !type.includes("/")) return { words: without(args.slice(1), await names(session, type)) };
  // Of several types, separated by commas, the last is being typed.
  const comma = typed.lastIndexOf(",") + 1;
  const types = await typeNames(session);
  return { words: types.map((one) => `${typed.slice(0, comma)}${one}`) };
}

async function podOrOther(
  session: Session,
  others: readonly string[],
  args: readonly string[],
  typed: string,
): Promise<Candidates> {
  const slash = typed.indexOf("/");
  if (slash > 0) return { words: await slashed(session, typed.slice(0, slash)) };
  const [first] = args;
  if (first !== undefined) {
    const pod = first.startsWith("pod") && first.includes("/") ? first.slice(first.indexOf("/") + 1) : first;
    return { words: first.includes("/") && !first.startsWith("pod") ? [] : await containerNamesOf(session, pod) };
  }
  const pods = await names(session, "pods");
  const types = others.filter((one) => typed !== "" && one.startsWith(typed)).map((one) => `${one}/`);
  return { words: [...pods, ...types], isOpen: types.length > 0 && pods.every((pod) => !pod.startsWith(typed)) };
}

async function copies(session: Session, args: readonly string[], typed: string): Promise<Candidates> {
  if (args.length > 1 || /^[/.~]/.test(typed) || typed.includes(":")) return { words: [], hasFiles: true };
  const slash = typed.indexOf("/");
  if (slash > 0) {
    const namespace = typed.slice(0, slash);
    const pods = await names(session, "pods", namespace);
    return { words: pods.map((pod) => `${namespace}/${pod}:`), isOpen: true };
  }
  const [spaces, pods] = await Promise.all([names(session, "namespaces"), names(session, "pods")]);
  return { words: [...spaces.map((one) => `${one}/`), ...pods.map((one) => `${one}:`)], isOpen: true, hasFiles: true };
}

const slashed = async (session: Session, type: string): Promise<readonly string[]> =>
  (await names(session, type)).map((name) => `${type}/${name}`);

/** Names only are asked for: objects may be large. */
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const most = "500";

export async function names(session: Session, type: string, inNamespace?: string): Promise<readonly string[]> {
  const mapping = type === "pods" ? podMapping : await (await session.mapper()).mappingFor(type);
  const namespace = mapping.isNamespaced ? (inNamespace ?? (await session.namespace())) : "";
  const { items } = await (await session.client()).json({
    path: resourcePath(mapping, namespace),
    query: [["limit", most]],
    accept: metadataOnly,
  });
  return (Array.isArray(items) ? items : []).filter(isObject).map((item) => stringIn(metadataOf(item).name));
}

export async function containerNamesOf(session: Session, pod: string): Promise<readonly string[]> {
  const path = resourcePath(podMapping, await session.namespace(), pod);
  return containersOf(await (await session.client()).json({ path })).map(({ name }) => name);
}

export async function configNames(
  session: Session,
  list: "contexts" | "clusters" | "users",
): Promise<readonly string[]> {
  const config = await loadConfigFiles(session.io, session.globals);
  return config[list].map(({ name }) => name);
}

async function typeNames(session: Session): Promise<readonly string[]> {
  const mappings = await (await session.mapper()).all();
  const listed = mappings.filter(({ verbs }) => verbs.length === 0 || verbs.includes("list") || verbs.includes("get"));
  return [...new Set(listed.map(resourceName))].toSorted();
}
