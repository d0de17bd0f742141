import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { seededRandom, systemRandom } from "#base/random.ts";
import type { ValueTransformer } from "../encryption/value-transformer.ts";
import { aesCbc, aesGcm, secretbox, seededGcm } from "./ciphers.ts";

const key = "/registry/secrets/default/a";
const plain = '{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}';
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array) => new TextDecoder().decode(value);
const secretOf = (length: number) => Uint8Array.from({ length }, (_, i) => i);
const makers = { aesgcm: aesGcm, aescbc: aesCbc, secretbox, seed: seededGcm } as const;

/** Written by upstream's own code, k8s.io/apiserver v0.36.3, with the key 00 01 02 … and chance. */
const written: readonly (readonly [keyof typeof makers, number, string])[] = [
  [
    "aesgcm",
    16,
    "TCZMBtbSog4LK9sK4MXRwEi6VdgbuQO9pj1awbYFvepLyiMiRqPqUQYD4v6luN4EErH0If3fNwcz22SyzBDMUcjoZPY9KgUGfNDGEfjqkad7EFDLxbgC",
  ],
  [
    "aescbc",
    16,
    "RitR0SmmBJ/O3YtiRH92NWiobEH0aub7BkFJf8rsfgmXSda69qqzR9UUoa8iQI3GdSrAM8p3hnJ8v+YJPbThr8o4JhBlgne3GM7TgemhrjU=",
  ],
  [
    "aesgcm",
    24,
    "CbowwwGmvrQZJSPgNRzyAFIOBxGQBPEECuthxj+VDnZgaOWW6GrZwN1PRS9ZjJLB0cRBVMkLYpoRk60Qsem25RTGmD/Y4nFjGXTIziEBxS3OBW20z3jN",
  ],
  [
    "aescbc",
    24,
    "KS8MryLObJ5+V1EiLl0YA484J5eIvR6hn318W+i2t77VmFcGmaCTR1k9VMEIGr9OJ1+hho5D2uNdTxq4m9Mx+DnNLR0WyxYHk3UpyhP3Tjg=",
  ],
  [
    "aesgcm",
    32,
    "JeUkhZ6/4W/s5hjFuNOfYFJxY00lwow1x60OfjWFa05mDrNuDND7q5X6+hz8BLynGQ4mJTbXFVEfZFsTwnduz1cKkgxHrhHYbQR0hgOMc9gT1MAYx/pf",
  ],
  [
    "aescbc",
    32,
    "9T7KjoU/4k4hHBOjVfVpd5u/jKXN7bTBXYo2KWIukTXDydxtyRlFa8v7D/v8IJ7H9WmVO+e5EAAy7sAcXpqr5RW4E2II7YhSdleQHNSQwPA=",
  ],
  [
    "secretbox",
    32,
    "slPNiYmdXx4s14+ZVTPNkTUhH906FPHfInmGG3nvFYNifQOlPI628G4r84iMX3jWG0zL+Tw9apDgdRt/HJEmg77+EoYmrjktvW7QSZEv2XB9oHiKfkKE3+wm98YhCdohSDUt",
  ],
  [
    "seed",
    32,
    "imuJWExF+vcy5fdjSKdxACS3jlozrqgMXID4eOQMDGnMTtEOsaO1aii24cyQGlIoio6NRCuzrLXjx+QL2RTTa5OkNZTkx73ZUGOs+LzBf8oH3HxsUBBDqDhmkc5dKz45sJFxGDRje2ou9tfv2nkE62yDAvgc9wk=",
  ],
];

for (const [name, length, stored] of written)
  test(`what upstream wrote with ${name} and a key of ${length} bytes is read`, () => {
    const cipher = makers[name](secretOf(length), systemRandom);
    const value = Uint8Array.from(Buffer.from(stored, "base64"));
    assert.equal(text(cipher.read(value, key).value), plain);
    // With the chance that upstream had, the very same bytes are written.
    const parts = name === "seed" ? [32, 12] : [name === "aesgcm" ? 12 : name === "aescbc" ? 16 : 24];
    let at = 0;
    const chance = {
      bytes(count: number) {
        assert.equal(count, parts.shift());
        at += count;
        return value.slice(at - count, at);
      },
    };
    assert.equal(
      Buffer.from(makers[name](secretOf(length), chance).write(bytes(plain), key)).toString("base64"),
      stored,
    );
  });

const lengths = { aesgcm: [16, 24, 32], aescbc: [16, 24, 32], secretbox: [32], seed: [32] } as const;
const ciphers = Object.entries(makers).flatMap(([name, make]) =>
  lengths[name as keyof typeof lengths].map((length): readonly [string, ValueTransformer, ValueTransformer] => [
    `${name} ${length}`,
    make(secretOf(length), seededRandom(1)),
    make(secretOf(length).reverse(), seededRandom(2)),
  ]),
);

test("whatever is written is read again, and no two writes of a value are equal", () => {
  for (const [name, cipher] of ciphers)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (value) => {
        const [one, other] = [cipher.write(value, key).slice(), cipher.write(value, key).slice()];
        assert.notDeepEqual(one, other, name);
        assert.deepEqual(cipher.read(one, key), { value: Uint8Array.from(value), isStale: false }, name);
      }),
      { numRuns: 60 },
    );
});

test("random bytes are refused with an error, never read and never a crash", () => {
  for (const [name, cipher] of ciphers)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (value) => {
        try {
          cipher.read(value, key);
        } catch (error) {
          assert.ok(
            error instanceof Error && /stored data|cipher:|PKCS7|padding|output array/.test(error.message),
            name,
          );
          return;
        }
        assert.match(name, /aescbc/, "only CBC has no way to tell, where the padding fits by chance");
      }),
      { numRuns: 300 },
    );
});

test("a changed byte, another secret and another place are noticed by those who authenticate", () => {
  for (const [name, cipher, stranger] of ciphers) {
    if (name.startsWith("aescbc")) continue;
    const stored = cipher.write(bytes(plain), key).slice();
    for (let at = 0; at < stored.length; at++) {
      const changed = stored.slice();
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => cipher.read(changed, key), name);
    }
    assert.throws(() => stranger.read(stored, key), name);
    if (!name.startsWith("secretbox"))
      assert.throws(() => cipher.read(stored, `${key}b`), /authentication failed/, name);
  }
});
