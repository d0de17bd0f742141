// All OpenAPI documents of a server: made when first asked for, kept until the kinds in them change.
import { sha256Hex } from "#base/sha256.ts";
import type { AnyKind } from "../kind.ts";
import type { GroupVersionKind, Json, KindsOf } from "./definitions.ts";
import { groupPaths, resourcesPaths, rootDocuments } from "./discovery-paths.ts";
import { encodeDocumentV2 } from "./gnostic.ts";
import { pathOfGroupVersion } from "./names.ts";
import { type MetaStructs, operationsOf, type Paths, subresourcesOf } from "./operations.ts";
import { documentV2 } from "./v2.ts";
import { documentV3, type Title } from "./v3.ts";

export interface OpenApiOptions {
  readonly meta: MetaStructs;
  /** What the documents call themselves: "Kubernetes" and the version of the API. */
  readonly title: Title;
  /** Tells one document from another, in hexadecimal. Its own SHA-256 unless told; a host has a faster one. */
  readonly digest?: (text: string) => string;
}

export interface Served<Content> {
  readonly content: Content;
  /** Equal for equal documents, across restarts and servers. */
  readonly etag: string;
}

export class OpenApi {
  readonly #options: OpenApiOptions;
  readonly #digest: (text: string) => string;
  #groupVersions: ReadonlyMap<string, readonly AnyKind[]> = new Map();
  #kindsOf: (document: string) => KindsOf = () => () => undefined;
  readonly #documents = new Map<string, Served<string>>();
  #v2: Served<string> | undefined;
  #v2Protobuf: Served<Uint8Array> | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#digest = options.digest ?? sha256Hex;
  }

  /** Says which kinds are served from now on. Only documents whose kinds are others than before are made anew. */
  serve(kinds: readonly AnyKind[]): void {
    const before = this.#groupVersions;
    this.#groupVersions = Map.groupBy(kinds, ({ group, version }) => pathOfGroupVersion(group, version));
    for (const path of new Set([...before.keys(), ...this.#groupVersions.keys()]))
      if (!sameKinds(before.get(path), this.#groupVersions.get(path))) this.#documents.delete(path);
    this.#kindsOf = kindsByStruct(kinds, this.#options.meta);
    this.#v2 = undefined;
    this.#v2Protobuf = undefined;
  }

  /** Names of the version 3 documents: "api/v1", "apis/apps", "apis/apps/v1", "version" … */
  names(): readonly string[] {
    const groups = [...this.#groupVersions.values()].flatMap(([first]) =>
      first?.group ? [`apis/${first.group}`] : [],
    );
    return [...new Set([...rootDocuments(this.#options.meta).keys(), ...groups, ...this.#groupVersions.keys()])].sort();
  }

  /** The version 3 document of a name, or undefined if there is none. */
  document(name: string): Served<string> | undefined {
    const made = this.#documents.get(name);
    if (made) return made;
    const paths = this.#pathsOf(name);
    if (!paths) return undefined;
    const content = JSON.stringify(documentV3(this.#options.title, paths, this.#kindsOf(name)));
    const served = { content, etag: this.#digest(content) };
    this.#documents.set(name, served);
    return served;
  }

  /** `/openapi/v3`: where each document is, with a hash that lets clients keep it for good. */
  index(): Served<string> {
    const paths = this.names().map((name): [string, Json] => [
      name,
      { serverRelativeURL: `/openapi/v3/${name}?hash=${this.document(name)?.etag}` },
    ]);
    const content = JSON.stringify({ paths: Object.fromEntries(paths) });
    return { content, etag: this.#digest(content) };
  }

  /** `/openapi/v2` in JSON. */
  wholeDocument(): Served<string> {
    if (!this.#v2) {
      const content = JSON.stringify(this.#documentV2());
      this.#v2 = { content, etag: this.#digest(content) };
    }
    return this.#v2;
  }

  /** `/openapi/v2` as a message of gnostic's OpenAPIv2, which kubectl asks for. */
  wholeDocumentProtobuf(): Served<Uint8Array> {
    this.#v2Protobuf ??= { content: encodeDocumentV2(this.#documentV2()), etag: this.wholeDocument().etag };
    return this.#v2Protobuf;
  }

  #documentV2(): Json {
    const paths = this.names().flatMap((name) => [...(this.#pathsOf(name) ?? [])]);
    return documentV2(this.#options.title, new Map(paths), this.#kindsOf("all"));
  }

  #pathsOf(name: string): Paths | undefined {
    const { meta } = this.#options;
    const kinds = this.#groupVersions.get(name);
    const [first] = kinds ?? [];
    if (kinds && first)
      return new Map([
        ...resourcesPaths(first.group, first.version, meta),
        ...kinds.flatMap((kind) => [...operationsOf(kind, meta)]),
      ]);
    const root = rootDocuments(meta).get(name);
    if (root) return root;
    const group = /^apis\/([^/]+)$/.exec(name)?.[1];
    return group !== undefined && this.names().includes(name) ? groupPaths(group, meta) : undefined;
  }
}

const sameKinds = (a: readonly AnyKind[] | undefined, b: readonly AnyKind[] | undefined): boolean =>
  a?.length === b?.length && (a ?? []).every((kind, i) => kind === b?.[i]);

/** What travels with every kind is known in each group and version: in a document of one, in that; in the whole, in all. */
function kindsByStruct(kinds: readonly AnyKind[], meta: MetaStructs): (document: string) => KindsOf {
  const core = { group: "", version: "v1" };
  const groupVersions = kinds.map(({ group, version }) => ({ group, version }));
  const byStruct = new Map<string, readonly GroupVersionKind[]>();
  const bodies = kinds.flatMap((kind) => [
    kind,
    ...Object.values(subresourcesOf(kind, meta)).flatMap((one) => one.kind?.() ?? []),
  ]);
  for (const kind of bodies) byStruct.set(kind.struct.name, [kind]);
  for (const name of ["Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"])
    byStruct.set(`meta/v1.${name}`, [{ ...core, kind: name }]);

  return (document) => {
    const places = distinct([
      core,
      ...groupVersions.filter(
        ({ group, version }) => document === "all" || pathOfGroupVersion(group, version) === document,
      ),
    ]);
    return (structName) => {
      const common = /^meta\/v1\.(DeleteOptions|WatchEvent)$/.exec(structName)?.[1];
      return common === undefined ? byStruct.get(structName) : places.map((place) => ({ ...place, kind: common }));
    };
  };
}

function distinct(places: readonly { group: string; version: string }[]) {
  const byPath = new Map(places.map((place) => [`${place.group} ${place.version}`, place]));
  return [...byPath].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, place]) => place);
}
