// Certificate requests for tests: as much of one as is read here, unsigned.
const oids: Readonly<Record<string, readonly number[]>> = { CN: [0x55, 4, 3], O: [0x55, 4, 10] };

const der = (tag: number, ...content: readonly Uint8Array[]): Uint8Array => {
  const body = Buffer.concat(content);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Uint8Array.from([tag, ...length]), body]);
};

/** A request of PEM in base64, with these names as its subject. */
export function csrOf(subject: Readonly<Record<string, readonly string[]>>): string {
  const names = Object.entries(subject).flatMap(([type, values]) =>
    values.map((value) =>
      der(0x31, der(0x30, der(0x06, Uint8Array.from(oids[type] ?? [])), der(0x0c, Buffer.from(value)))),
    ),
  );
  const info = der(0x30, der(0x02, Uint8Array.from([0])), der(0x30, ...names), der(0x30, Buffer.alloc(200)));
  const body = Buffer.from(der(0x30, info, der(0x30), der(0x03, Uint8Array.from([0])))).toString("base64");
  return btoa(`-----BEGIN CERTIFICATE REQUEST-----\n${body}\n-----END CERTIFICATE REQUEST-----\n`);
}

export const csrWith = (signerName: string, subject: Readonly<Record<string, readonly string[]>>) => ({
  metadata: { name: "r" },
  spec: { signerName, request: csrOf(subject), usages: ["client auth"] },
});
