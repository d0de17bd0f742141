import assert from "node:assert/strict";
import { constants, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import { signatureProblems } from "./checks.ts";
import { csrOf, ecdsaWithSha256, type TestSigner } from "./testing.ts";

interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const weak = generateKeyPairSync("rsa", { modulusLength: 512 });
const ed25519 = generateKeyPairSync("ed25519");
const curve = (namedCurve: string) => generateKeyPairSync("ec", { namedCurve });
const [p224, p256, p384, p521] = ["P-224", "P-256", "P-384", "P-521"].map(curve) as [Keys, Keys, Keys, Keys];
const dsa = generateKeyPairSync("dsa", { modulusLength: 1024, divisorLength: 160 });

const rsaWith = (last: string) => `300d06092a864886f70d0101${last}0500`;
const ecdsaWith = (last: string) => `300a06082a8648ce3d0403${last}`;
const pss = (hash: string, salt: string, mask = hash) =>
  `304106092a864886f70d01010a3034a00f300d0609${hash}0500a11c301a06092a864886f70d010108300d0609${mask}0500a203020${salt}`;
const sha256 = "608648016503040201";

const by = ({ publicKey, privateKey }: Keys, algorithm: string, hash: string | null): TestSigner => ({
  publicKey,
  algorithm,
  sign: (info) => sign(hash, info, privateKey),
});
const byPss = (algorithm: string, saltLength: number): TestSigner => ({
  publicKey: rsa.publicKey,
  algorithm,
  sign: (info) => sign("sha256", info, { key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }),
});

const unimplemented = "x509: cannot verify signature: algorithm unimplemented";
const cases: Readonly<Record<string, readonly [TestSigner, string | undefined]>> = {
  "RSA with SHA-256": [by(rsa, rsaWith("0b"), "sha256"), undefined],
  "RSA with SHA-384": [by(rsa, rsaWith("0c"), "sha384"), undefined],
  "RSA with SHA-512": [by(rsa, rsaWith("0d"), "sha512"), undefined],
  "RSA with SHA-1, which is good enough for a request": [by(rsa, rsaWith("05"), "sha1"), undefined],
  "RSA with MD5": [by(rsa, rsaWith("04"), "md5"), "x509: cannot verify signature: insecure algorithm MD5-RSA"],
  "RSA with another hash than it says": [by(rsa, rsaWith("0b"), "sha512"), "crypto/rsa: verification error"],
  "RSA of few bits": [
    by(weak, rsaWith("0b"), "sha256"),
    "crypto/rsa: 512-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)",
  ],
  "RSA with a salt": [byPss(pss(sha256, "120"), 32), undefined],
  "RSA with another salt than it says": [byPss(pss(sha256, "120"), 20), "crypto/rsa: verification error"],
  "RSA with a salt of another length": [byPss(pss(sha256, "114"), 20), unimplemented],
  "RSA with a mask of another hash": [byPss(pss(sha256, "120", "608648016503040202"), 32), unimplemented],
  "P-256 with SHA-256": [by(p256, ecdsaWithSha256, "sha256"), undefined],
  "P-256 with SHA-512": [by(p256, ecdsaWith("04"), "sha512"), undefined],
  "P-384 with SHA-384": [by(p384, ecdsaWith("03"), "sha384"), undefined],
  "P-521 with SHA-512": [by(p521, ecdsaWith("04"), "sha512"), undefined],
  "P-256 with SHA-1": [by(p256, "300906072a8648ce3d0401", "sha1"), undefined],
  "a curve that is not checked": [by(p224, ecdsaWithSha256, "sha256"), "x509: unsupported elliptic curve"],
  "ECDSA by another key": [
    { ...by(p256, ecdsaWithSha256, "sha256"), publicKey: curve("P-256").publicKey },
    "x509: ECDSA verification failure",
  ],
  "ECDSA by no signature": [
    { ...by(p256, ecdsaWithSha256, "sha256"), sign: () => new Uint8Array() },
    "x509: ECDSA verification failure",
  ],
  "ECDSA by numbers that are too long": [
    { ...by(p256, ecdsaWithSha256, "sha256"), sign: () => sign("sha256", Buffer.of(1), p384.privateKey) },
    "x509: ECDSA verification failure",
  ],
  Ed25519: [by(ed25519, "300506032b6570", null), undefined],
  "Ed25519 with parameters": [by(ed25519, "300706032b65700500", null), unimplemented],
  "Ed25519 by another key": [
    { ...by(ed25519, "300506032b6570", null), publicKey: generateKeyPairSync("ed25519").publicKey },
    "x509: Ed25519 verification failure",
  ],
  "an algorithm for another kind of key": [
    by(p256, rsaWith("0b"), "sha256"),
    "x509: signature algorithm specifies an RSA public key, but have public key of type *ecdsa.PublicKey",
  ],
  DSA: [by(dsa, "300b0609608648016503040302", "sha256"), unimplemented],
  "an algorithm that nobody knows": [by(p256, "300506032a0304", "sha256"), unimplemented],
};

for (const [name, [signer, refusal]] of Object.entries(cases))
  test(`a request signed by ${name} is ${refusal === undefined ? "taken" : "refused"}`, async () => {
    const problems = await signatureProblems("spec.request", csrOf({ CN: ["jane"] }, signer));
    assert.deepEqual(
      problems.map(({ detail }) => detail),
      refusal === undefined ? [] : [refusal],
    );
  });

test("a request that was changed since it was signed is refused", async () => {
  const [begin, body = "", end] = atob(csrOf({ CN: ["jane"] })).split("\n");
  const changed = Buffer.from(body, "base64").toString("latin1").replace("jane", "root");
  const request = btoa([begin, Buffer.from(changed, "latin1").toString("base64"), end, ""].join("\n"));
  assert.deepEqual(await signatureProblems("spec.request", request), [
    { type: "Invalid", field: "spec.request", value: request, detail: "x509: ECDSA verification failure" },
  ]);
});

test("what is no request at all has no signature to be refused for", async () => {
  for (const request of [undefined, 1, "", btoa("nothing")])
    assert.deepEqual(await signatureProblems("spec.request", request), []);
});
