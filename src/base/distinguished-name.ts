// The names in certificates and in requests for them, read as Go's crypto/x509 reads them.
//
//   Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }
import { type DerElement, DerError, derElements, derInside, derTag } from "./der.ts";
import { hex } from "./hex.ts";

export interface DistinguishedName {
  /** The last of them, as in Go; empty if there is none. */
  readonly commonName: string;
  /** All of them, also those that share a set with others. */
  readonly organizations: readonly string[];
  /** Kubernetes' own attribute 1.3.6.1.4.1.57683.2, all of them. */
  readonly uids: readonly string[];
}

const commonNameOid = "550403";
const organizationOid = "55040a";
const uidOid = "2b0601040183c25302";

/** Reads the content of a Name. Throws DerError. */
export function parseDistinguishedName(name: Uint8Array): DistinguishedName {
  const attributes = nameAttributes(name);
  return {
    commonName: attributes.findLast(({ type }) => type === commonNameOid)?.text ?? "",
    organizations: attributes.filter(({ type }) => type === organizationOid).map(({ text }) => text),
    uids: attributes.filter(({ type }) => type === uidOid).map(({ text }) => text),
  };
}

export interface NameAttribute {
  /** Its OID, in hex. */
  readonly type: string;
  readonly text: string;
}

/** All that the content of a Name says, in its order. Throws DerError. */
export function nameAttributes(name: Uint8Array): readonly NameAttribute[] {
  const parts = derElements(name).flatMap((one) => derElements(derInside(one, derTag.set)));
  return parts.map((one) => {
    const [type, value] = derElements(derInside(one, derTag.sequence));
    if (!value) throw new DerError("asn1: syntax error: sequence truncated");
    return { type: hex(derInside(type, derTag.oid)), text: textOf(value) };
  });
}

const { utf8String, numericString, printableString, t61String, ia5String, bmpString } = derTag;

/** A text in an alphabet that it breaks, or in one that Go does not know, could be read in two ways: it is refused. */
function textOf({ tag, content }: DerElement): string {
  switch (tag) {
    case utf8String:
      return decoded("utf-8", content);
    case bmpString:
      return decoded("utf-16be", content);
    case numericString:
      return within(/^[0-9 ]*$/, content);
    case printableString:
      return within(/^[A-Za-z0-9 '()+,\-./:=?*&]*$/, content);
    case t61String:
    case ia5String:
      return within(/^\p{ASCII}*$/u, content);
    default:
      throw new DerError(`invalid attribute value: unsupported string type: ${tag}`);
  }
}

function within(alphabet: RegExp, content: Uint8Array): string {
  const text = decoded("utf-8", content);
  if (!alphabet.test(text)) throw new DerError("invalid attribute value: invalid character in string");
  return text;
}

function decoded(encoding: "utf-8" | "utf-16be", content: Uint8Array): string {
  try {
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(content);
  } catch (cause) {
    throw new DerError("invalid attribute value: invalid string", { cause });
  }
}
