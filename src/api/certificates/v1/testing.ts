// Certificate requests for tests, signed by the key that they are for.
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { der, derTag } from "#base/der.ts";

const oids: Readonly<Record<string, readonly number[]>> = { CN: [0x55, 4, 3], O: [0x55, 4, 10] };
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
export function csrOf(subject: Readonly<Record<string, readonly string[]>>, signer: TestSigner = testSigner): string {
  const names = Object.entries(subject).flatMap(([type, values]) =>
    values.map((value) =>
      der(set, der(sequence, der(oid, Uint8Array.from(oids[type] ?? [])), der(utf8String, Buffer.from(value)))),
    ),
  );
  const key = signer.publicKey.export({ type: "spki", format: "der" });
  const attributes = der(0xa0);
  const info = der(sequence, der(integer, Uint8Array.from([0])), der(sequence, ...names), key, attributes);
  const signature = der(bitString, Uint8Array.from([0]), signer.sign(info));
  const body = Buffer.from(der(sequence, info, Buffer.from(signer.algorithm, "hex"), signature)).toString("base64");
  return btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`);
}

export const csrWith = (signerName: string, subject: Readonly<Record<string, readonly string[]>>) => ({
  metadata: { name: "r" },
  spec: { signerName, request: csrOf(subject), usages: ["client auth"] },
});
