// Which format an answer is written in, and which a body is in. Decisions are data: whoever asked turns them into 406 or 415.

export const jsonType = "application/json";
export const yamlType = "application/yaml";
export const protobufType = "application/vnd.kubernetes.protobuf";

/** The parameters of a media type: `as=Table;v=v1;g=meta.k8s.io` and `stream=watch`. */
export interface RequestedConversion {
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

export interface AcceptedType {
  readonly mediaType: string;
  readonly convert?: RequestedConversion;
  readonly isPretty: boolean;
  /** The client asks for a stream of events. A watch is one with or without this parameter. */
  readonly isStream: boolean;
  /** All parameters as sent, by lower-case name. */
  readonly parameters: ReadonlyMap<string, string>;
}

export interface Offer {
  readonly mediaType: string;
  /** Whether events can be sent in it. */
  readonly streams: boolean;
}

/** In the order upstream offers them: the first is what a client gets that does not care. */
export const offers: readonly Offer[] = [
  { mediaType: jsonType, streams: true },
  { mediaType: yamlType, streams: false },
  { mediaType: protobufType, streams: true },
];

/** What one endpoint offers. */
export interface Negotiable {
  readonly offers: readonly Offer[];
  readonly isWatch: boolean;
  /** Whether the response can be converted as the parameters say, in this format. Absent: no conversion is offered. */
  allows?(convert: RequestedConversion, mediaType: string): boolean;
  /** Whether the format is offered without a conversion. Absent: every format is. */
  allowsPlain?(mediaType: string): boolean;
}

export type Negotiation = { readonly accepted: AcceptedType } | { readonly acceptable: readonly string[] };

/** Whether the router of upstream lets a header pass, before it is read in full: one of its types must be offered, or be any. */
export const isProduced = (accept: string, offers: readonly Offer[]): boolean =>
  accept === "" ||
  accept.split(",").some((clause) => {
    const type = clause.split(";", 1)[0]?.trim();
    return type === "*/*" || offers.some(({ mediaType }) => mediaType === type);
  });

/** The best offer for an Accept header, or the media types to name in a 406. */
export function negotiate(
  accept: string | undefined,
  { offers, isWatch, allows, allowsPlain }: Negotiable,
): Negotiation {
  const clauses = accept ? parseAccept(accept) : [{ type: "*", subtype: "*", quality: 1, parameters: new Map() }];
  for (const clause of clauses) {
    for (const offer of offers) {
      if (!matches(clause, offer.mediaType)) continue;
      const accepted = acceptedBy(clause, offer);
      if (!accepted) continue;
      const isAllowed = accepted.convert
        ? allows?.(accepted.convert, offer.mediaType)
        : (allowsPlain?.(offer.mediaType) ?? true);
      if (!isAllowed) continue;
      if (isWatch && !offer.streams) return { acceptable: streamTypes(offers) };
      return { accepted };
    }
  }
  return { acceptable: isWatch ? streamTypes(offers) : offers.map(({ mediaType }) => mediaType) };
}

const streamTypes = (offers: readonly Offer[]): readonly string[] =>
  offers.filter(({ streams }) => streams).map(({ mediaType }) => `${mediaType};stream=watch`);

/** The media type of a body, or undefined if it is none of those: then 415. A body without a type is JSON. */
export function bodyType(contentType: string | undefined, types: readonly string[]): string | undefined {
  if (!contentType) return types[0];
  if (types.includes(contentType)) return contentType;
  const name = contentType.split(";", 1)[0]?.trim().toLowerCase();
  return types.find((type) => type === name);
}

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

/** Clauses that say more come before those that say less, at the same quality; otherwise in the order sent. */
function parseAccept(header: string): readonly Clause[] {
  return header
    .slice(0, longestHeader)
    .split(",")
    .flatMap((part) => parseClause(part) ?? [])
    .sort((a, b) => b.quality - a.quality || wildness(a) - wildness(b));
}
const longestHeader = 8192;

const wildness = ({ type, subtype }: Clause): number => (type === "*" ? 2 : subtype === "*" ? 1 : 0);

function parseClause(text: string): Clause | undefined {
  const [range = "", ...rest] = text.split(";").map((part) => part.trim());
  const [type, subtype, ...more] = range.toLowerCase().split("/");
  const parameters = new Map<string, string>();
  let quality = 1;
  for (const part of rest) {
    const [name = "", value = ""] = part.split(/=(.*)/s, 2).map((one) => one.trim().replace(/^"(.*)"$/, "$1"));
    if (name.toLowerCase() === "q") quality = Number(value);
    else if (name !== "") parameters.set(name.toLowerCase(), value);
  }
  if (range === "*") return { type: "*", subtype: "*", quality, parameters };
  if (!type || !subtype || more.length > 0 || !(quality > 0)) return undefined;
  return { type, subtype, quality, parameters };
}

function matches({ type, subtype }: Clause, mediaType: string): boolean {
  const [offeredType, offeredSubtype] = mediaType.split("/");
  return (type === "*" && subtype === "*") || (type === offeredType && (subtype === "*" || subtype === offeredSubtype));
}

function acceptedBy({ parameters }: Clause, { mediaType, streams }: Offer): AcceptedType | undefined {
  const stream = parameters.get("stream") ?? "";
  if (stream !== "" && (stream !== "watch" || !streams)) return undefined;
  if ((parameters.get("sv") ?? "") !== "") return undefined;
  const [kind, group, version] = ["as", "g", "v"].map((name) => parameters.get(name));
  const convert =
    kind === undefined && group === undefined && version === undefined
      ? undefined
      : { kind: kind ?? "", group: group ?? "", version: version ?? "" };
  return {
    mediaType,
    ...(convert && { convert }),
    isPretty: parameters.get("pretty") === "1",
    isStream: stream === "watch",
    parameters,
  };
}
