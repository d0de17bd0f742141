// Which objects a command line means, and the visit of each: types and names, selectors, or manifests
// (upstream: cli-runtime/pkg/resource/builder.go).
import { isObject } from "#base/is-object.ts";
import { type Labels, labelMatcher, parseSelector, SelectorError } from "#schema/selector.ts";
import { apiVersionOf, type RestMapping } from "../discovery/rest-mapper.ts";
import { AggregateKubectlError, KubectlError, throwAll } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Query } from "../rest/request.ts";
import type { Session } from "../session.ts";
import { listPages } from "./list-pages.ts";
import { type ManifestSource, manifestDocuments, manifestSources } from "./manifest-files.ts";
import { combinedNames, splitArguments, type TypedName } from "./resource-arguments.ts";
import { getInfo, isNamespaced, metadataOf, type ResourceInfo, stringIn } from "./resource-info.ts";

export interface ResourceQueryOptions {
  /** `-f`; with `-k` besides. */
  readonly filenames?: readonly string[];
  readonly isRecursive?: boolean;
  readonly kustomize?: string;
  /** Manifests that are no files, such as one that was edited. */
  readonly manifests?: readonly ManifestSource[];
  /** `TYPE[,TYPE]`, `TYPE NAME...`, or `TYPE/NAME...`. */
  readonly args?: readonly string[];
  /** Arguments without a type are names of this one. */
  readonly defaultType?: string;
  /** A type alone means all objects of it. */
  readonly allowEmptySelector?: boolean;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly selectAll?: boolean;
  readonly allNamespaces?: boolean;
  readonly subresource?: string;
  /** Objects per request of a list; all at once unless given. */
  readonly chunkSize?: number;
  readonly singleResourceType?: boolean;
  /** Goes on after an error, and tells all in the end. */
  readonly continueOnError?: boolean;
  /** Lists are taken apart: each of their items is visited, not the list. */
  readonly flatten?: boolean;
  /** Objects of manifests are read anew from the server. */
  readonly latest?: boolean;
  /** Asks no server. */
  readonly isLocal?: boolean;
  /** Objects without a body are read from the server; true unless said otherwise. */
  readonly requireObject?: boolean;
  /** The Accept header of reads, for tables. */
  readonly accept?: string;
  /** More parameters of reads. */
  readonly query?: Query;
  /** Called with each manifest before it is used. Throws what is wrong with it. */
  validate?(document: unknown, source: string): Promise<void>;
}

const missingResource = `You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'`;
const localResource = `error: you must specify resources by --filename when --local is set.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'`;

export type InfoVisitor = (info: ResourceInfo) => Promise<void>;
type Source = (visit: InfoVisitor) => Promise<void>;

export class ResourceQuery {
  readonly #session: Session;
  readonly #options: ResourceQueryOptions;
  /** Whether one object was named, so that it is printed as itself and not in a list. */
  readonly isSingle: boolean;
  /** Whether objects were named one by one, not selected. */
  readonly targetsSingleItems: boolean;
  readonly #sources: readonly Source[];

  private constructor(session: Session, options: ResourceQueryOptions, found: FoundSources) {
    this.#session = session;
    this.#options = options;
    this.isSingle = found.isSingle;
    this.targetsSingleItems = found.targetsSingleItems;
    this.#sources = found.sources;
  }

  /** Throws KubectlError for what the command line got wrong. */
  static async of(session: Session, options: ResourceQueryOptions): Promise<ResourceQuery> {
    return new ResourceQuery(session, options, await findSources(session, options));
  }

  /** Visits every object. Throws the first error, or all together if the query goes on after errors. */
  async visit(visit: InfoVisitor): Promise<void> {
    const errors: Error[] = [];
    const attempt = async (work: () => Promise<void>) => {
      if (!this.#options.continueOnError) return work();
      try {
        await work();
      } catch (error) {
        if (!(error instanceof Error) || this.#session.io.signal.aborted) throw error;
        errors.push(...(error instanceof AggregateKubectlError ? error.errors : [error]));
      }
    };
    for (const source of this.#sources)
      await attempt(() => source((info) => attempt(async () => visit(await this.#completed(info)))));
    throwAll(errors);
  }

  async infos(): Promise<ResourceInfo[]> {
    const infos: ResourceInfo[] = [];
    await this.visit(async (info) => {
      infos.push(info);
    });
    return infos;
  }

  /** With its namespace settled and its object read. */
  async #completed(info: ResourceInfo): Promise<ResourceInfo> {
    const { isLocal, latest, requireObject = true, accept } = this.#options;
    const { namespace } = await this.#session.config();
    const usual = this.#options.allNamespaces ? "" : namespace;
    if (isNamespaced(info)) {
      if (info.namespace === "" && !isList(info.object)) setNamespace(info, usual);
      if (await this.#isEnforced(info, usual))
        throw new KubectlError(
          `the namespace from the provided object ${JSON.stringify(info.namespace)} does not match the namespace ${JSON.stringify(usual)}. You must pass '--namespace=${info.namespace}' to perform this operation.`,
        );
    } else if (info.mapping) setNamespace(info, "");
    if (isLocal) return info;
    if ((latest && info.source !== "" && info.name !== "") || (requireObject && info.object === undefined))
      info.object = await getInfo(await this.#session.client(), info, accept);
    return info;
  }

  async #isEnforced(info: ResourceInfo, usual: string): Promise<boolean> {
    return (
      info.source !== "" && info.namespace !== usual && usual !== "" && (await this.#session.isNamespaceEnforced())
    );
  }
}

function setNamespace(info: ResourceInfo, namespace: string): void {
  info.namespace = namespace;
  const { object } = info;
  if (!object) return;
  const { namespace: _, ...metadata } = metadataOf(object);
  if (namespace !== "") object.metadata = { ...metadata, namespace };
  else if (_ !== undefined) object.metadata = metadata;
}

interface FoundSources {
  readonly isSingle: boolean;
  readonly targetsSingleItems: boolean;
  readonly sources: readonly Source[];
}

async function findSources(session: Session, options: ResourceQueryOptions): Promise<FoundSources> {
  const {
    args = [],
    filenames = [],
    kustomize = "",
    labelSelector = "",
    fieldSelector = "",
    selectAll = false,
    manifests = [],
  } = options;
  if (filenames.length > 0 && kustomize !== "") throw new KubectlError("only one of -f or -k can be specified");
  const errors: Error[] = [];
  const files = manifestSources(session.io, filenames, options.isRecursive ?? false);
  errors.push(...files.errors);
  const typed = await readArguments(session, options, args, errors);
  const selector = labelSelector.trim();
  if (selectAll && (selector !== "" || fieldSelector.trim() !== ""))
    errors.push(new KubectlError("setting 'all' parameter but found a non empty selector. "));
  if (errors.length > 0) throw errors.length === 1 ? errors[0] : new AggregateKubectlError(errors);
  const { types, names, combined } = typed;
  if (filenames.length > 0 || kustomize !== "" || manifests.length > 0) {
    if (types.length > 0)
      throw new KubectlError(
        "when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well",
      );
    if (combined.length > 0)
      throw new KubectlError("resource/name arguments cannot be provided when a path is specified");
    const sources = kustomize === "" ? [...files.sources, ...manifests] : [kustomization(session, kustomize)];
    const { usesStdin, isFolder } = files;
    return {
      isSingle: !isFolder && !usesStdin && sources.length === 1,
      targetsSingleItems: true,
      sources: sources.map((source) => manifestVisits(session, options, source)),
    };
  }
  if (options.isLocal) throw new KubectlError(localResource);
  const isSelected =
    selectAll ||
    selector !== "" ||
    fieldSelector.trim() !== "" ||
    (options.allowEmptySelector && names.length === 0 && types.length > 0);
  if (isSelected) return selected(session, options, typed, selector, fieldSelector.trim());
  return namedObjects(session, options, typed);
}

interface TypedArguments {
  readonly types: readonly string[];
  readonly names: readonly string[];
  readonly combined: readonly TypedName[];
}

async function readArguments(
  session: Session,
  options: ResourceQueryOptions,
  args: readonly string[],
  errors: Error[],
): Promise<TypedArguments> {
  try {
    if (options.defaultType !== undefined)
      return { types: [], names: [], combined: combinedNames(args, options.defaultType) };
    const { types, ...rest } = splitArguments(args);
    const expanded = await Promise.all(
      types.map(
        async (type) => (options.isLocal ? undefined : await (await session.mapper()).category(type)) ?? [type],
      ),
    );
    return { types: expanded.flat(), ...rest };
  } catch (error) {
    if (!(error instanceof KubectlError)) throw error;
    errors.push(error);
    return { types: [], names: [], combined: [] };
  }
}

function kustomization({ io }: Session, folder: string): ManifestSource {
  return { name: folder, read: async () => (await import("../kustomize/build.ts")).buildKustomization(io, folder) };
}

async function selected(
  session: Session,
  options: ResourceQueryOptions,
  { types, names, combined }: TypedArguments,
  labelSelector: string,
  fieldSelector: string,
): Promise<FoundSources> {
  if (names.length > 0) throw new KubectlError("name cannot be provided when a selector is specified");
  if (combined.length > 0)
    throw new KubectlError("selectors and the all flag cannot be used when passing resource/name arguments");
  if (types.length === 0) throw new KubectlError("at least one resource must be specified to use a selector");
  if (options.subresource) throw new KubectlError("subresource cannot be used when bulk resources are specified");
  const mappings = await mappingsFor(session, types, options.singleResourceType ?? false);
  const { namespace } = await session.config();
  return {
    isSingle: false,
    targetsSingleItems: false,
    sources: mappings.map((mapping) => async (visit) => {
      const at = mapping.isNamespaced && !options.allNamespaces ? namespace : "";
      const { chunkSize = 0, accept, query = [] } = options;
      const request = {
        mapping,
        namespace: at,
        labelSelector,
        fieldSelector,
        chunkSize,
        query,
        ...(accept !== undefined && { accept }),
      };
      for await (const list of listPages(await session.client(), request)) {
        const info: ResourceInfo = { mapping, namespace: at, name: "", source: "", object: list, subresource: "" };
        await visitFlat(session, options, info, visit);
      }
    }),
  };
}

/** Aliases of the same resource are one. */
async function mappingsFor(
  session: Session,
  types: readonly string[],
  isOneOnly: boolean,
): Promise<readonly RestMapping[]> {
  if (types.length > 1 && isOneOnly) throw new KubectlError("you may only specify a single resource type");
  const mapper = await session.mapper();
  const byKind = new Map<string, RestMapping>();
  for (const type of types) {
    const mapping = await mapper.mappingFor(type);
    const key = `${apiVersionOf(mapping)}/${mapping.kind}`;
    if (!byKind.has(key)) byKind.set(key, mapping);
  }
  return [...byKind.values()];
}

async function namedObjects(
  session: Session,
  options: ResourceQueryOptions,
  { types, names, combined }: TypedArguments,
): Promise<FoundSources> {
  const mapper = await (combined.length + types.length > 0 ? session.mapper() : undefined);
  let wanted: TypedName[] = [...combined];
  if (combined.length === 0) {
    const [type] = types;
    if (type === undefined || !mapper) throw new KubectlError(missingResource);
    if (names.length === 0) {
      for (const one of types) await mapper.mappingFor(one);
      throw new KubectlError("resource(s) were provided, but no name was specified");
    }
    if (types.length > 1) throw new KubectlError("you must specify only one resource");
    wanted = names.map((name) => ({ type, name }));
  }
  const { namespace } = await session.config();
  const infos: ResourceInfo[] = [];
  for (const { type, name } of wanted) {
    const mapping = await (await session.mapper()).mappingFor(type);
    if (mapping.isNamespaced && options.allNamespaces)
      throw new KubectlError("a resource cannot be retrieved by name across all namespaces");
    const at = mapping.isNamespaced ? namespace : "";
    infos.push({ mapping, namespace: at, name, source: "", object: undefined, subresource: options.subresource ?? "" });
  }
  if (options.singleResourceType && new Set(infos.map(({ mapping }) => mapping)).size > 1)
    throw new KubectlError("you may only specify a single resource type");
  return {
    isSingle: infos.length === 1,
    targetsSingleItems: true,
    sources: infos.map((info) => (visit) => visit(info)),
  };
}

function manifestVisits(session: Session, options: ResourceQueryOptions, source: ManifestSource): Source {
  const matches = matcherOf(options.labelSelector?.trim() ?? "");
  return async (visit) => {
    const errors: Error[] = [];
    for (const document of manifestDocuments(await source.read(), source.name))
      try {
        await options.validate?.(document, source.name);
        const info = await infoOf(session, options, document, source.name);
        await visitFlat(session, options, info, async (one) => {
          const { labels } = metadataOf(one.object);
          if (matches(isObject(labels) ? (labels as Labels) : {})) await visit(one);
        });
      } catch (error) {
        if (!options.continueOnError || !(error instanceof Error) || session.io.signal.aborted) throw error;
        errors.push(error);
      }
    throwAll(errors);
  };
}

function matcherOf(selector: string): (labels: Labels) => boolean {
  try {
    return labelMatcher(parseSelector(selector));
  } catch (cause) {
    if (!(cause instanceof SelectorError)) throw cause;
    const message = `the provided selector ${JSON.stringify(selector)} is not valid: ${cause.message}`;
    throw new KubectlError(message, { cause });
  }
}

/** What a document is and where it belongs. Throws KubectlError for what is no object of the server's. */
async function infoOf(
  session: Session,
  options: ResourceQueryOptions,
  document: unknown,
  source: string,
): Promise<ResourceInfo> {
  const unable = (why: string) => new KubectlError(`unable to decode ${JSON.stringify(source)}: ${why}`);
  if (!isObject(document)) throw unable(`json: cannot unmarshal ${goKind(document)} into Go value of type struct`);
  const { kind, apiVersion } = document;
  const shown = JSON.stringify(document);
  if (typeof kind !== "string" || kind === "") throw unable(`Object 'Kind' is missing in '${shown}'`);
  if (typeof apiVersion !== "string" || apiVersion === "") throw unable(`Object 'apiVersion' is missing in '${shown}'`);
  const object = document as KubeObject;
  const { name, namespace } = metadataOf(object);
  const known = {
    name: stringIn(name),
    namespace: stringIn(namespace),
    source,
    object,
    subresource: options.subresource ?? "",
  };
  if (options.isLocal || isList(object)) return { mapping: undefined, ...known };
  const at = apiVersion.indexOf("/");
  const [group, version] = at < 0 ? ["", apiVersion] : [apiVersion.slice(0, at), apiVersion.slice(at + 1)];
  try {
    return { mapping: await (await session.mapper()).mappingForKind(group, kind, version), ...known };
  } catch (cause) {
    if (!(cause instanceof KubectlError)) throw cause;
    const hint = "ensure CRDs are installed first";
    throw new KubectlError(
      `resource mapping not found for name: ${JSON.stringify(known.name)} namespace: ${JSON.stringify(known.namespace)} from ${JSON.stringify(source)}: ${cause.message}\n${hint}`,
      { cause },
    );
  }
}

const goKind = (value: unknown): string =>
  Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;

export const isList = (object: Readonly<KubeObject> | undefined): boolean =>
  Array.isArray(object?.items) && stringIn(object?.kind).endsWith("List");

/** The items of a list one by one, if the query wants them so; lists may hold lists. */
async function visitFlat(
  session: Session,
  options: ResourceQueryOptions,
  info: ResourceInfo,
  visit: InfoVisitor,
): Promise<void> {
  if (!options.flatten || !isList(info.object)) return visit(info);
  const items = (info.object?.items ?? []) as readonly unknown[];
  const listKind = stringIn(info.object?.kind).replace(/List$/, "");
  const errors: Error[] = [];
  for (const item of items) {
    try {
      if (info.mapping && isObject(item)) {
        const named = { apiVersion: stringIn(info.object?.apiVersion), kind: listKind, ...item } as KubeObject;
        const { name, namespace } = metadataOf(named);
        await visit({
          mapping: info.mapping,
          name: stringIn(name),
          namespace: stringIn(namespace),
          source: info.source,
          object: named,
          subresource: "",
        });
      } else await visitFlat(session, options, await infoOf(session, options, item, info.source), visit);
    } catch (error) {
      if (!(error instanceof Error) || session.io.signal.aborted) throw error;
      errors.push(error);
    }
  }
  throwAll(errors);
}
