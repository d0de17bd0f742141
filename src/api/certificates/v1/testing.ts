// Certificate requests for tests, signed by the key that they are for.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { der, derTag } from "#base/der.ts";

const oids: Readonly<Record<string, readonly number[]>> = {
  CN: [0x55, 4, 3],
  O: [0x55, 4, 10],
  UID: [0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2],
};
const { sequence, set, integer, oid, utf8String, bitString } = derTag;

export interface TestSigner {
  readonly publicKey: KeyObject;
  /** As the request names it: SEQUENCE { OID, parameters }, in hex. */
  readonly algorithm: string;
  sign(info: Uint8Array): Uint8Array;
}

const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const ecdsaWithSha256 = "300a06082a8648ce3d040302";
const testSigner: TestSigner = {
  publicKey: keys.publicKey,
  algorithm: ecdsaWithSha256,
  sign: (info) => sign("sha256", info, keys.privateKey),
};

/** A request of PEM in base64, with these names as its subject. */
export function csrOf(
  subject: Readonly<Record<string, readonly string[]>>,
  signer: TestSigner = testSigner,
  /** General names to ask for, each a whole DER element. */
  names: readonly Uint8Array[] = [],
): string {
  const subjectNames = Object.entries(subject).flatMap(([type, values]) =>
    values.map((value) =>
      der(set, der(sequence, der(oid, Uint8Array.from(oids[type] ?? [])), der(utf8String, Buffer.from(value)))),
    ),
  );
  const key = signer.publicKey.export({ type: "spki", format: "der" });
  const attributes = der(0xa0, ...(names.length === 0 ? [] : [extensionRequest(names)]));
  const info = der(sequence, der(integer, Uint8Array.from([0])), der(sequence, ...subjectNames), key, attributes);
  const signature = der(bitString, Uint8Array.from([0]), signer.sign(info));
  const body = Buffer.from(der(sequence, info, Buffer.from(signer.algorithm, "hex"), signature)).toString("base64");
  return btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`);
}

const extensionRequest = (names: readonly Uint8Array[]): Uint8Array => {
  const alternativeNames = der(
    sequence,
    der(oid, Uint8Array.from([0x55, 0x1d, 0x11])),
    der(derTag.octetString, der(sequence, ...names)),
  );
  const requested = der(oid, Uint8Array.from([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14]));
  return der(sequence, requested, der(set, der(sequence, alternativeNames)));
};

/** General names, as `csrOf` takes them. */
export const generalNames = {
  email: (text: string) => der(0x81, Buffer.from(text)),
  dns: (text: string) => der(0x82, Buffer.from(text)),
  uri: (text: string) => der(0x86, Buffer.from(text)),
  ip: (...bytes: readonly number[]) => der(0x87, Uint8Array.from(bytes)),
};

export const csrWith = (signerName: string, subject: Readonly<Record<string, readonly string[]>>) => ({
  metadata: { name: "r" },
  spec: { signerName, request: csrOf(subject), usages: ["client auth"] },
});
