// What a bundle of trust anchors may hold: certificates of authorities in PEM, each once. Read as Go's crypto/x509 reads them.
import { fromBase64 } from "#base/base64.ts";
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { hex } from "#base/hex.ts";
import { invalid, type Problem, tooLong } from "#schema/index.ts";

const mostBytes = 1024 * 1024;
const block = /-----BEGIN ([^\n-]+)-----\s*\n([^-]*)-----END \1-----/g;
const basicConstraintsOid = "551d13";
const extensionsTag = 0xa3;
const { sequence, boolean, octetString, oid } = derTag;

export function* checkTrustAnchors(field: string, pem: string): Iterable<Problem> {
  if (pem.length > mostBytes) {
    yield tooLong(field, mostBytes);
    return;
  }
  const refuse = (detail: string) => invalid(field, detail, "<value omitted>");
  const places = new Map<string, number[]>();
  let isBroken = false;
  for (const [i, [, type = "", body = ""]] of [...pem.matchAll(block)].entries()) {
    const problem = type !== "CERTIFICATE" ? `has bad block type: ${type}` : problemOf(body);
    if (problem !== undefined) {
      isBroken = true;
      yield refuse(`entry ${i} ${problem}`);
      continue;
    }
    const key = body.replaceAll(/\s/g, "");
    places.set(key, [...(places.get(key) ?? []), i]);
  }
  if (isBroken) return;
  if (places.size === 0) yield refuse("at least one trust anchor must be provided");
  for (const indices of places.values())
    if (indices.length > 1) yield refuse(`duplicate trust anchor (indices [${indices.join(" ")}])`);
}

function problemOf(body: string): string | undefined {
  if (body.includes(":")) return "has PEM block headers";
  const bytes = fromBase64(body.replaceAll(/\s/g, ""));
  try {
    if (!bytes) throw new DerError("no base64");
    return isAuthority(bytes) ? undefined : "does not have the CA bit set";
  } catch (error) {
    if (error instanceof DerError) return "does not parse as X.509";
    throw error;
  }
}

/** SEQUENCE { SEQUENCE { …, [3] SEQUENCE OF SEQUENCE { OID, BOOLEAN critical OPTIONAL, OCTET STRING } }, algorithm, signature } */
function isAuthority(certificate: Uint8Array): boolean {
  const [body, algorithm, signature] = derElements(derInside(derElement(certificate), sequence));
  derInside(algorithm, sequence);
  derInside(signature, derTag.bitString);
  const fields = derElements(derInside(body, sequence));
  const extensions = fields.find(({ tag }) => tag === extensionsTag);
  if (!extensions) return false;
  return derElements(derInside(derElement(extensions.content), sequence)).some(saysAuthority);
}

function saysAuthority(extension: DerElement): boolean {
  const [type, ...rest] = derElements(derInside(extension, sequence));
  if (hex(derInside(type, oid)) !== basicConstraintsOid) return false;
  const [first] = derElements(derInside(derElement(derInside(rest.at(-1), octetString)), sequence));
  return first?.tag === boolean && first.content[0] === 0xff;
}
