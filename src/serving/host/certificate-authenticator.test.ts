import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { der, derTag } from "#base/der.ts";
import type { HttpRequest } from "#wire/http.ts";
import { refused } from "../authentication.ts";
import { certificateAuthenticator } from "./certificate-authenticator.ts";

const { sequence, set, oid, integer, bitString, utf8String, printableString, bmpString, t61String, utcTime } = derTag;
const ed25519 = der(sequence, der(oid, Uint8Array.of(0x2b, 0x65, 0x70)));
const types = {
  CN: [0x55, 0x04, 0x03],
  O: [0x55, 0x04, 0x0a],
  OU: [0x55, 0x04, 0x0b],
  UID: [0x2b, 6, 1, 4, 1, 0x83, 0xc2, 0x53, 2], // 1.3.6.1.4.1.57683.2
};

interface Attribute {
  readonly type: keyof typeof types;
  readonly text: string | Uint8Array;
  readonly tag?: number;
}
const cn = (text: Attribute["text"], tag?: number): Attribute => ({ type: "CN", text, ...(tag && { tag }) });
const org = (text: string): Attribute => ({ type: "O", text });
const uid = (text: string): Attribute => ({ type: "UID", text });
const bytes = (text: string) => new TextEncoder().encode(text);

/** A name of these sets of attributes, as it stands in a certificate. */
const nameOf = (sets: readonly (readonly Attribute[])[]): Uint8Array =>
  der(
    sequence,
    ...sets.map((attributes) =>
      der(
        set,
        ...attributes.map(({ type, text, tag = utf8String }) =>
          der(
            sequence,
            der(oid, Uint8Array.from(types[type])),
            der(tag, typeof text === "string" ? bytes(text) : text),
          ),
        ),
      ),
    ),
  );

/** A certificate for that name, good for the year 2026. The authenticator does not look at who signed it. */
function certificate(sets: readonly (readonly Attribute[])[]): Uint8Array {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const validity = der(sequence, der(utcTime, bytes("260101000000Z")), der(utcTime, bytes("270101000000Z")));
  const body = der(
    sequence,
    der(0xa0, der(integer, Uint8Array.of(2))),
    der(integer, Uint8Array.of(1)),
    ed25519,
    nameOf([[cn("authority")]]),
    validity,
    nameOf(sets),
    publicKey.export({ type: "spki", format: "der" }),
  );
  const key: KeyObject = createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" }));
  return der(sequence, body, ed25519, der(bitString, Uint8Array.of(0), sign(null, body, key)));
}

const clock = new ManualClock("2026-06-01T00:00:00Z");
const authenticate = certificateAuthenticator(clock);
const identify = (request: Partial<HttpRequest>) => authenticate(request as HttpRequest);
const holderOf = (...sets: readonly (readonly Attribute[])[]) => {
  const user = identify({ clientCertificate: certificate(sets) });
  if (user === undefined || user === refused) return user;
  if (user instanceof Promise) throw new Error("a certificate is read at once");
  return { name: user.name, groups: user.groups.filter((group) => group !== "system:authenticated") };
};

test("a certificate is read as Go reads it: the last CN, all Os, whatever set they stand in", () => {
  for (const [expected, ...sets] of [
    [{ name: "joe", groups: ["devs", "ops"] }, [org("devs")], [org("ops")], [cn("joe")]],
    [{ name: "second", groups: [] }, [cn("first")], [cn("second")]],
    [{ name: "joe", groups: ["system:masters"] }, [cn("joe"), org("system:masters")]],
    [{ name: " lead", groups: [] }, [cn(" lead")]],
    [{ name: "a,b+c=d\\e\nO=system:masters", groups: [] }, [cn("a,b+c=d\\e\nO=system:masters")]],
    [{ name: "joe", groups: [] }, [cn("joe", printableString)]],
    [{ name: "jö", groups: [] }, [cn(Uint8Array.of(0, 0x6a, 0, 0xf6), bmpString)]],
    [undefined, [org("devs")]],
    [undefined, [cn("first")], [cn("")]],
  ] as const)
    assert.deepEqual(holderOf(...sets), expected, JSON.stringify(sets));
});

test("Kubernetes' own attribute is the UID, of which there is one", () => {
  const identified = identify({ clientCertificate: certificate([[cn("joe")], [uid("7-7")]]) });
  assert.ok(typeof identified === "object" && "uid" in identified);
  assert.equal(identified.uid, "7-7");
  assert.equal(holderOf([cn("joe")], [uid("7")], [uid("8")]), refused);
  assert.equal(holderOf([cn("joe")], [uid("")]), refused);
});

test("a name that could be read in two ways is refused", () => {
  assert.equal(holderOf([cn("joe@example", printableString)]), refused);
  assert.equal(holderOf([cn(Uint8Array.of(0x6a, 0xf6), t61String)]), refused);
});

test("a client is refused by a certificate that is not good or no longer is, and is a stranger without one", async () => {
  assert.equal(identify({}), undefined);
  assert.equal(identify({ hasUntrustedCertificate: true }), refused);
  const clientCertificate = certificate([[cn("joe")]]);
  assert.notEqual(identify({ clientCertificate }), refused);
  await clock.advance(365 * 24 * 60 * 60 * 1000);
  assert.equal(identify({ clientCertificate }), refused);
});
