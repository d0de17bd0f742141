// In which form a client wants its answer.
// Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation/negotiate.go.
import { own } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import { type IncludeObject, type MetaVersion, parseIncludeObject } from "#schema/table.ts";
import type { RequestVerb } from "#wire/api-request.ts";
import type { Codec } from "#wire/codec.ts";
import type { HttpRequest } from "#wire/http.ts";
import { jsonCodec } from "#wire/json.ts";
import { type AcceptedType, isProduced, negotiate, offers, type RequestedConversion } from "#wire/negotiate.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { notAcceptable, nothingProduced } from "#wire/status.ts";
import { yamlCodec } from "#wire/yaml.ts";

/** What the client wants to get, chosen from its Accept header before anything is done. */
export interface ResponseForm {
  readonly codec: Codec;
  readonly as: "object" | "table" | "metadata";
  /** Whether `as` is meant for lists; undefined where that makes no difference. */
  readonly isOfLists?: boolean | undefined;
  readonly metaVersion: MetaVersion;
  readonly includeObject: IncludeObject;
  readonly pretty: boolean;
}

export const codecs: ReadonlyMap<string, Codec> = new Map(
  [jsonCodec, yamlCodec, protobufCodec].map((codec) => [codec.mediaType, codec]),
);
const shapes: Readonly<Record<string, ResponseForm["as"]>> = {
  Table: "table",
  PartialObjectMetadata: "metadata",
  PartialObjectMetadataList: "metadata",
};

/** Throws ApiError 406 if there is nothing the client would take. */
export function wantedBy(request: HttpRequest, verb: RequestVerb, kind?: AnyKind): ResponseForm {
  const { headers, query } = request;
  const { mediaType, convert, isPretty } = accepted(headers.accept ?? "", verb, kind);
  const as = own(shapes, convert?.kind ?? "") ?? "object";
  return {
    codec: codecs.get(mediaType) ?? jsonCodec,
    as,
    isOfLists: as === "metadata" ? convert?.kind === "PartialObjectMetadataList" : undefined,
    metaVersion: convert?.version === "v1beta1" ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1",
    includeObject: parseIncludeObject(query.get("includeObject") ?? undefined),
    pretty: isPretty || isForPerson(request),
  };
}

/** Whether JSON is to be indented: as asked, or as the client's name suggests. */
export function isForPerson({ headers, query }: HttpRequest): boolean {
  const asked = query.get("pretty");
  return asked ? /^(1|t|true)$/i.test(asked) : /^(curl|Wget|Mozilla\/5\.0)/.test(headers["user-agent"] ?? "");
}

/** For refusals of requests that never got so far as to say what they want: if there is nothing they would take, in plain sight. */
export function wantedOfRefusal(request: HttpRequest): ResponseForm {
  try {
    return { ...wantedBy(request, "get"), as: "object" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return indentedJson;
  }
}

/** A cluster's clients send the same few headers over and over. */
const recent = { list: new Map<string, AcceptedType>(), watch: new Map<string, AcceptedType>() };
const mostRecent = 100;

function accepted(accept: string, verb: RequestVerb, kind: AnyKind | undefined): AcceptedType {
  const isWatch = verb === "watch";
  const known = recent[isWatch ? "watch" : "list"];
  const present = known.get(accept);
  if (present) return present;
  // Upstream's handler of custom resources negotiates later than its routes do.
  if (!kind?.model.publication.isUnstructured && !isProduced(accept, offers))
    throw nothingProduced(isWatch || verb === "list" ? listTypes : objectTypes);
  const result = negotiate(accept, { offers, isWatch, allows: isAllowed });
  if ("acceptable" in result) throw notAcceptable(result.acceptable);
  if (known.size >= mostRecent) known.clear();
  if (accept.length <= 500) known.set(accept, result.accepted);
  return result.accepted;
}

export const objectTypes = offers.map(({ mediaType }) => mediaType);
const listTypes = [
  ...objectTypes,
  ...offers.filter(({ streams }) => streams).map(({ mediaType }) => `${mediaType};stream=watch`),
];

const isAllowed = ({ kind, group, version }: RequestedConversion, mediaType: string): boolean =>
  group === "meta.k8s.io" &&
  (version === "v1" || version === "v1beta1") &&
  own(shapes, kind) !== undefined &&
  (kind !== "Table" || mediaType !== protobufCodec.mediaType);

const indentedJson: ResponseForm = {
  codec: jsonCodec,
  as: "object",
  metaVersion: "meta.k8s.io/v1",
  includeObject: "Metadata",
  pretty: true,
};

/** What is stored is what is wanted: nothing has to be encoded. */
export const isStoredJson = ({ codec, as, pretty }: ResponseForm): boolean =>
  codec === jsonCodec && as === "object" && !pretty;
