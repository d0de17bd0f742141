// The names that a certificate signing request asks for besides its subject: an attribute with requested extensions (RFC 2985), one of
// which is the subject alternative name (RFC 5280). Read as Go's crypto/x509 reads them.
//
//   attributes ::= [0] { SEQUENCE { OID, SET { SEQUENCE OF extension } } … }
//   extension ::= SEQUENCE { OID, BOOLEAN critical OPTIONAL, OCTET STRING }
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { hex } from "#base/hex.ts";

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
  /** Four or sixteen bytes each. */
  readonly ips: readonly Uint8Array[];
}

const extensionRequestOid = "2a864886f70d01090e";
const alternativeNameOid = "551d11";
const attributesTag = 0xa0;
const { sequence, set, oid, boolean, octetString } = derTag;

const none: AlternativeNames = { dns: [], emails: [], uris: [], ips: [] };

/** What the attributes of a request ask for. Throws DerError. */
export function requestedNames(attributes: DerElement | undefined): AlternativeNames {
  if (attributes?.tag !== attributesTag) return none;
  const extensions = derElements(attributes.content).flatMap(extensionsIn);
  const types = extensions.map(({ type }) => type);
  if (new Set(types).size < types.length)
    throw new DerError("x509: certificate request contains duplicate requested extensions");
  const value = extensions.find(({ type }) => type === alternativeNameOid)?.value;
  return value === undefined ? none : namesIn(derInside(derElement(value), sequence));
}

interface Extension {
  readonly type: string;
  readonly value: Uint8Array;
}

function extensionsIn(attribute: DerElement): readonly Extension[] {
  const [type, values] = partsOf(attribute);
  if (type?.tag !== oid || hex(type.content) !== extensionRequestOid) return [];
  const [first] = derElements(derInside(values, set));
  return derElements(derInside(first, sequence)).map((extension) => {
    const [id, ...rest] = derElements(derInside(extension, sequence));
    const value = rest[0]?.tag === boolean ? rest[1] : rest[0];
    return { type: hex(derInside(id, oid)), value: derInside(value, octetString) };
  });
}

/** Attributes that nobody can read are left out, as Go does. */
function partsOf(attribute: DerElement): readonly DerElement[] {
  try {
    return derElements(derInside(attribute, sequence));
  } catch (error) {
    if (error instanceof DerError) return [];
    throw error;
  }
}

const tagOf = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 };

function namesIn(general: Uint8Array): AlternativeNames {
  const names = derElements(general);
  const texts = (tag: number, what: string) =>
    names.filter((name) => name.tag === tag).map(({ content }) => asciiOf(content, what));
  const ips = names.filter(({ tag }) => tag === tagOf.ip).map(({ content }) => content);
  const odd = ips.find(({ byteLength }) => byteLength !== 4 && byteLength !== 16);
  if (odd) throw new DerError(`x509: cannot parse IP address of length ${odd.byteLength}`);
  return {
    dns: texts(tagOf.dns, "dNSName"),
    emails: texts(tagOf.email, "rfc822Name"),
    uris: texts(tagOf.uri, "uniformResourceIdentifier").map(checkedUri),
    ips,
  };
}

function asciiOf(content: Uint8Array, what: string): string {
  if (content.some((byte) => byte > 0x7f)) throw new DerError(`x509: SAN ${what} is malformed`);
  return String.fromCharCode(...content);
}

function checkedUri(text: string): string {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text);
  if (scheme && !URL.canParse(text)) throw new DerError(`x509: cannot parse URI ${JSON.stringify(text)}`);
  return text;
}
