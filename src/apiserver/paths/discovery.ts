// `/api` and `/apis`: which groups, versions and resources are served. The aggregated documents are made once for each state of the served
// set: clients ask for them often, and mostly to learn that nothing has changed.
import { APIGroupDiscoveryList } from "#api/apidiscovery/v2/discovery.ts";
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { groupPriorities } from "#api/group-priorities.ts";
import { sha256 } from "#base/sha256.ts";
import {
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Catalog,
  groupDiscoveryList,
} from "#schema/discovery.ts";
import { parseJson } from "#schema/json.ts";
import type { PublishedDocument } from "#schema/openapi/documents.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { negotiate, offers, type RequestedConversion, yamlType } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import type { Aggregator } from "../aggregation/aggregator.ts";
import { withHeaders } from "../response/respond.ts";
import type { ServedApis } from "../served/served-apis.ts";
import { plainJson } from "./json.ts";
import { tagged } from "./tagged.ts";

export class DiscoveryDocuments {
  readonly #apis: ServedApis;
  readonly #aggregator: Aggregator;
  /** Host and port where clients reach this server. */
  readonly #externalAddress: () => string;
  readonly #documents = new Map<string, PublishedDocument<string>>();
  /** The state of the served set that the documents describe. */
  #generation = "";
  #catalog: Catalog = { kinds: [], priorities: groupPriorities, Scale };

  constructor(apis: ServedApis, aggregator: Aggregator, externalAddress: () => string) {
    this.#apis = apis;
    this.#aggregator = aggregator;
    this.#externalAddress = externalAddress;
  }

  /** `/api` */
  versions(request: HttpRequest): HttpResponse {
    return this.#aggregated(request, "api") ?? plainJson(request, apiVersions(this.#externalAddress()));
  }

  /** `/apis` */
  groups(request: HttpRequest): HttpResponse {
    return this.#aggregated(request, "apis") ?? plainJson(request, apiGroupList(this.#current()));
  }

  /** `/apis/<group>` */
  group(request: HttpRequest, name: string): HttpResponse | undefined {
    const group = apiGroup(this.#current(), name);
    return group && plainJson(request, group);
  }

  /** `/api/v1` and `/apis/<group>/<version>` */
  resources(request: HttpRequest, group: string, version: string): HttpResponse | undefined {
    const list = apiResourceList(this.#current(), group, version);
    return list && plainJson(request, list);
  }

  /** All of it at once, for clients that want it so. */
  #aggregated(request: HttpRequest, part: "api" | "apis"): HttpResponse | undefined {
    const result = negotiate(request.headers.accept, { offers, isWatch: false, allows: isAggregated });
    if (!("accepted" in result) || !result.accepted.convert) return undefined;
    const { mediaType } = result.accepted;
    const { content: document, etag } = this.#document(part);
    const content = mediaType === protobufCodec.mediaType ? aggregatedProtobuf(document) : document;
    const contentType = `${mediaType};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList`;
    // What is served is the same for everybody, and the tag tells when it changes.
    return withHeaders(tagged(request, { content, etag }, contentType), { "cache-control": "public" });
  }

  #document(part: "api" | "apis"): PublishedDocument<string> {
    const catalog = this.#current();
    const present = this.#documents.get(part);
    if (present) return present;
    const content = JSON.stringify(groupDiscoveryList(catalog, part));
    const document = { content, etag: hash(content) };
    this.#documents.set(part, document);
    return document;
  }

  #current(): Catalog {
    const { apis: remote, discovery } = this.#aggregator;
    const generation = `${this.#apis.generation} ${remote.generation} ${discovery.generation}`;
    if (generation === this.#generation) return this.#catalog;
    this.#generation = generation;
    this.#documents.clear();
    const { priorities } = remote;
    this.#catalog = { ...this.#catalog, kinds: this.#apis.kinds, priorities, foreign: discovery.versions };
    return this.#catalog;
  }
}

const isAggregated = ({ kind, group, version }: RequestedConversion, mediaType: string): boolean =>
  kind === "APIGroupDiscoveryList" && group === "apidiscovery.k8s.io" && version === "v2" && mediaType !== yamlType;

const aggregatedProtobuf = (document: string): Uint8Array =>
  protobufCodec.encode(
    { apiVersion: "apidiscovery.k8s.io/v2", kind: "APIGroupDiscoveryList", struct: APIGroupDiscoveryList },
    parseJson(document).value as object,
  );

const hash = (text: string): string =>
  Array.from(sha256(text), (byte) => byte.toString(16).padStart(2, "0").toUpperCase()).join("");
