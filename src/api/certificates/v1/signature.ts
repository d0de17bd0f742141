// Whether a certificate request was signed with the key that it is for. Refusals are in the words of Go's crypto.
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { hex } from "#base/hex.ts";
import { type Algorithm, algorithmIn, type Csr, CsrError } from "./request.ts";

interface Signing {
  /** Which kind of key signs so. */
  readonly key: "RSA" | "ECDSA" | "Ed25519" | "DSA";
  readonly hash: string;
  /** With a salt, and how long it is. */
  readonly saltLength?: number;
}

const { sequence, integer } = derTag;
const nullTag = 0x05;
const rsaOid = "2a864886f70d0101";
const ecdsaOid = "2a8648ce3d04";
const sha2Oid = "6086480165030402";

const signings: Readonly<Record<string, Signing>> = {
  [`${rsaOid}04`]: { key: "RSA", hash: "MD5" },
  [`${rsaOid}05`]: { key: "RSA", hash: "SHA-1" },
  "2b0e03021d": { key: "RSA", hash: "SHA-1" },
  [`${rsaOid}0b`]: { key: "RSA", hash: "SHA-256" },
  [`${rsaOid}0c`]: { key: "RSA", hash: "SHA-384" },
  [`${rsaOid}0d`]: { key: "RSA", hash: "SHA-512" },
  [`${ecdsaOid}01`]: { key: "ECDSA", hash: "SHA-1" },
  [`${ecdsaOid}0302`]: { key: "ECDSA", hash: "SHA-256" },
  [`${ecdsaOid}0303`]: { key: "ECDSA", hash: "SHA-384" },
  [`${ecdsaOid}0304`]: { key: "ECDSA", hash: "SHA-512" },
  "2b6570": { key: "Ed25519", hash: "SHA-512" },
  "2a8648ce380403": { key: "DSA", hash: "SHA-1" },
  "608648016503040302": { key: "DSA", hash: "SHA-256" },
};
/** The hashes of PSS, each with its length, which is that of the salt. */
const pssHashes: Readonly<Record<string, { readonly hash: string; readonly bytes: number }>> = {
  [`${sha2Oid}01`]: { hash: "SHA-256", bytes: 32 },
  [`${sha2Oid}02`]: { hash: "SHA-384", bytes: 48 },
  [`${sha2Oid}03`]: { hash: "SHA-512", bytes: 64 },
};
interface Curve {
  readonly name: string;
  /** Of a coordinate. */
  readonly bytes: number;
}
const curves: Readonly<Record<string, Curve>> = {
  "2a8648ce3d030107": { name: "P-256", bytes: 32 },
  "2b81040022": { name: "P-384", bytes: 48 },
  "2b81040023": { name: "P-521", bytes: 66 },
};

const unimplemented = () => new CsrError("x509: cannot verify signature: algorithm unimplemented");

/** Throws CsrError if it was not, or if there is no telling. */
export async function checkSignature(csr: Csr): Promise<void> {
  const key = keyIn(csr.key);
  const signing = signingOf(csr.algorithm);
  if (!signing) throw unimplemented();
  if (signing.hash === "MD5") throw new CsrError("x509: cannot verify signature: insecure algorithm MD5-RSA");
  if (!key) throw unimplemented();
  if (signing.key !== key.type)
    throw new CsrError(
      `x509: signature algorithm specifies an ${signing.key} public key, but have public key of type ${key.goType}`,
    );
  await key.verify(signing, csr);
}

function signingOf({ oid, parameters }: Algorithm): Signing | undefined {
  if (oid === `${rsaOid}0a`) return pssOf(parameters?.whole);
  const signing = signings[oid];
  return signing?.key === "Ed25519" && parameters ? undefined : signing;
}

/** `SEQUENCE { [0] hash, [1] mask made with a hash, [2] INTEGER salt, [3] INTEGER trailer }`, of which Go takes what everyone uses. */
function pssOf(parameters: Uint8Array | undefined): Signing | undefined {
  try {
    const parts = derElements(derInside(derElement(parameters ?? new Uint8Array()), sequence));
    const inPart = (number: number) => {
      const part = parts.find(({ tag }) => tag === (0xa0 | number));
      return part && derElement(part.content);
    };
    const [hash, mask] = [algorithmIn(inPart(0)), algorithmIn(inPart(1))];
    const masked = algorithmIn(mask.parameters);
    const isPlain = [hash, masked].every(({ parameters }) => parameters === undefined || parameters.tag === nullTag);
    const known = pssHashes[hash.oid];
    const [salt] = derInside(inPart(2), integer);
    const trailer = inPart(3);
    const isUsual = trailer === undefined || derInside(trailer, integer)[0] === 1;
    if (!known || salt !== known.bytes || !isPlain || !isUsual) return undefined;
    if (mask.oid !== `${rsaOid}08` || masked.oid !== hash.oid) return undefined;
    return { key: "RSA", hash: known.hash, saltLength: salt };
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

interface PublicKey {
  readonly type: Signing["key"];
  readonly goType: string;
  verify(signing: Signing, csr: Csr): Promise<void>;
}

/** Undefined for keys that sign nothing we could check. Throws CsrError for one that is none. */
function keyIn(key: Csr["key"]): PublicKey | undefined {
  const { oid, parameters } = key.algorithm;
  if (oid === `${rsaOid}01`) {
    if (parameters?.tag !== nullTag) throw new CsrError("x509: RSA key missing NULL parameters");
    const bits = modulusBits(key.bits);
    return { type: "RSA", goType: "*rsa.PublicKey", verify: (signing, csr) => verifyRsa(bits, signing, csr) };
  }
  if (oid === "2a8648ce3d0201") {
    if (parameters?.tag !== derTag.oid) throw new CsrError("x509: invalid ECDSA parameters");
    const curve = curves[hex(parameters.content)];
    if (!curve) throw new CsrError("x509: unsupported elliptic curve");
    if (key.bits[0] !== 4) throw new CsrError("ecdsa: invalid uncompressed public key");
    return { type: "ECDSA", goType: "*ecdsa.PublicKey", verify: (signing, csr) => verifyEcdsa(curve, signing, csr) };
  }
  if (oid !== "2b6570") return undefined;
  if (parameters) throw new CsrError("x509: Ed25519 key encoded with illegal parameters");
  if (key.bits.length !== 32) throw new CsrError("x509: wrong Ed25519 public key size");
  return { type: "Ed25519", goType: "ed25519.PublicKey", verify: (_signing, csr) => verifyEd25519(csr) };
}

function modulusBits(key: Uint8Array): number {
  const elementsIn = (bytes: Uint8Array): readonly DerElement[] => {
    try {
      return derElements(bytes);
    } catch (cause) {
      throw new CsrError("x509: invalid RSA public key", { cause });
    }
  };
  const [outer] = elementsIn(key);
  if (outer?.tag !== sequence) throw new CsrError("x509: invalid RSA public key");
  const [modulus, exponent] = elementsIn(outer.content);
  if (modulus?.tag !== integer) throw new CsrError("x509: invalid RSA modulus");
  if (exponent?.tag !== integer) throw new CsrError("x509: invalid RSA public exponent");
  const [first = 0] = modulus.content;
  const digits = withoutZeros(modulus.content);
  if (first >= 0x80 || digits.length === 0) throw new CsrError("x509: RSA modulus is not a positive number");
  return digits.length * 8 - (Math.clz32(digits[0] ?? 0) - 24);
}

const withoutZeros = (number: Uint8Array): Uint8Array => {
  const start = number.findIndex((byte) => byte !== 0);
  return number.subarray(start < 0 ? number.length : start);
};

async function verifyRsa(bits: number, { hash, saltLength }: Signing, csr: Csr): Promise<void> {
  if (bits < 1024)
    throw new CsrError(
      `crypto/rsa: ${bits}-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)`,
    );
  const name = saltLength === undefined ? "RSASSA-PKCS1-v1_5" : "RSA-PSS";
  const asked = { ...csr, importAs: { name, hash }, verifyAs: { name, ...(saltLength && { saltLength }) } };
  if (!(await isSigned(asked))) throw new CsrError("crypto/rsa: verification error");
}

async function verifyEcdsa({ name, bytes }: Curve, { hash }: Signing, csr: Csr): Promise<void> {
  const signature = coordinatesIn(csr.signature, bytes);
  const importAs = { name: "ECDSA", namedCurve: name };
  const verifyAs = { name: "ECDSA", hash };
  if (!signature || !(await isSigned({ ...csr, signature, importAs, verifyAs })))
    throw new CsrError("x509: ECDSA verification failure");
}

async function verifyEd25519(csr: Csr): Promise<void> {
  const ed25519 = { name: "Ed25519" };
  if (!(await isSigned({ ...csr, importAs: ed25519, verifyAs: ed25519 })))
    throw new CsrError("x509: Ed25519 verification failure");
}

/** `SEQUENCE { INTEGER r, INTEGER s }` as one number behind the other; undefined if there is no signature of this length in it. */
function coordinatesIn(signature: Uint8Array, bytes: number): Uint8Array | undefined {
  try {
    const numbers = derElements(derInside(derElement(signature), sequence)).map((one) => derInside(one, integer));
    const plain = numbers.map(withoutZeros);
    if (plain.length !== 2 || plain.some(({ length }) => length > bytes)) return undefined;
    if (numbers.some(([first = 0]) => first >= 0x80)) return undefined;
    const both = new Uint8Array(2 * bytes);
    for (const [i, number] of plain.entries()) both.set(number, (i + 1) * bytes - number.length);
    return both;
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

interface Asked extends Csr {
  readonly importAs: Parameters<SubtleCrypto["importKey"]>[2];
  readonly verifyAs: Parameters<SubtleCrypto["verify"]>[0];
}

/** Not signed, too, with a key that is none, such as a point beside its curve. */
async function isSigned({ key, info, signature, importAs, verifyAs }: Asked): Promise<boolean> {
  const { subtle } = crypto;
  const imported = await subtle
    .importKey("spki", key.whole.slice(), importAs, false, ["verify"])
    .catch(() => undefined);
  return imported !== undefined && subtle.verify(verifyAs, imported, signature.slice(), info.slice());
}
