// Certificate requests for tests: as much of one as is read here, unsigned.
import { der, derTag } from "#base/der.ts";

const oids: Readonly<Record<string, readonly number[]>> = { CN: [0x55, 4, 3], O: [0x55, 4, 10] };
const { sequence, set, integer, oid, utf8String, bitString } = derTag;

/** A request of PEM in base64, with these names as its subject. */
export function csrOf(subject: Readonly<Record<string, readonly string[]>>): string {
  const names = Object.entries(subject).flatMap(([type, values]) =>
    values.map((value) =>
      der(set, der(sequence, der(oid, Uint8Array.from(oids[type] ?? [])), der(utf8String, Buffer.from(value)))),
    ),
  );
  const info = der(
    sequence,
    der(integer, Uint8Array.from([0])),
    der(sequence, ...names),
    der(sequence, Buffer.alloc(200)),
  );
  const body = Buffer.from(der(sequence, info, der(sequence), der(bitString, Uint8Array.from([0])))).toString("base64");
  return btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`);
}

export const csrWith = (signerName: string, subject: Readonly<Record<string, readonly string[]>>) => ({
  metadata: { name: "r" },
  spec: { signerName, request: csrOf(subject), usages: ["client auth"] },
});
