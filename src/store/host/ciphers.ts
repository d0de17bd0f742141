// The ciphers of encryption at rest, in the bytes that kube-apiserver writes and reads. Upstream:
// staging/src/k8s.io/apiserver/pkg/storage/value/encrypt (aes/aes.go, aes/aes_extended_nonce.go, secretbox/secretbox.go).
import { createCipheriv, createDecipheriv, createHmac, createSecretKey } from "node:crypto";
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import type { Random } from "#base/random.ts";
import { joined, joinedBriefly, type ValueTransformer } from "../encryption/value-transformer.ts";

type Chance = Pick<Random, "bytes">;
const nothing = new Uint8Array();

const tooShort = () => new Error("the stored data was shorter than the required size");

const gcmNonce = 12;
const gcmTag = 16;

/** A nonce, the text and its tag. Chance must not repeat: one key is good for 2^32 writes. */
export function aesGcm(secret: Uint8Array, chance: Chance): ValueTransformer {
  const key = createSecretKey(secret);
  const name = `aes-${secret.length * 8}-gcm` as "aes-256-gcm";
  return {
    read(stored, context) {
      if (stored.length < gcmNonce) throw tooShort();
      if (stored.length < gcmNonce + gcmTag) throw new Error("cipher: message authentication failed");
      const decipher = createDecipheriv(name, key, stored.subarray(0, gcmNonce), { authTagLength: gcmTag });
      decipher.setAAD(Buffer.from(context));
      decipher.setAuthTag(stored.subarray(stored.length - gcmTag));
      const value = decipher.update(stored.subarray(gcmNonce, stored.length - gcmTag));
      try {
        decipher.final();
      } catch (cause) {
        throw new Error("cipher: message authentication failed", { cause });
      }
      return { value: plainBytes(value), isStale: false };
    },
    write(value, context, head = nothing) {
      const nonce = chance.bytes(gcmNonce);
      const cipher = createCipheriv(name, key, nonce, { authTagLength: gcmTag });
      cipher.setAAD(Buffer.from(context));
      const text = cipher.update(value);
      cipher.final();
      return joinedBriefly(head, nonce, text, cipher.getAuthTag());
    },
  };
}

const block = 16;

/** An initialization vector, and the padded text. Nothing is authenticated: a wrong key is found by the padding, most of the time. */
export function aesCbc(secret: Uint8Array, chance: Chance): ValueTransformer {
  const key = createSecretKey(secret);
  const name = `aes-${secret.length * 8}-cbc`;
  return {
    read(stored) {
      if (stored.length < block) throw tooShort();
      if (stored.length % block !== 0) throw new Error("the stored data is not a multiple of the block size");
      const decipher = createDecipheriv(name, key, stored.subarray(0, block)).setAutoPadding(false);
      const padded = plainBytes(decipher.update(stored.subarray(block)));
      decipher.final();
      return { value: unpadded(padded), isStale: false };
    },
    write(value, _context, head = nothing) {
      const vector = chance.bytes(block);
      const cipher = createCipheriv(name, key, vector);
      return joinedBriefly(head, vector, cipher.update(value), cipher.final());
    },
  };
}

/** Without the padding of PKCS #7. */
function unpadded(padded: Uint8Array): Uint8Array {
  const count = padded.at(-1) ?? 0;
  if (count === 0 || count > padded.length) throw new Error("invalid PKCS7 data (empty or not padded)");
  const size = padded.length - count;
  if (padded.subarray(size).some((byte) => byte !== count)) throw new Error("invalid padding on input");
  return padded.subarray(0, size);
}

const boxNonce = 24;
const boxTag = 16;

/** XSalsa20 and Poly1305, as NaCl's secretbox. The key in the store is not authenticated. */
export const secretbox = (secret: Uint8Array, chance: Chance): ValueTransformer => ({
  read(stored) {
    if (stored.length < boxNonce + boxTag) throw tooShort();
    try {
      const box = xsalsa20poly1305(secret, stored.slice(0, boxNonce));
      return { value: box.decrypt(stored.slice(boxNonce)), isStale: false };
    } catch (cause) {
      throw new Error("output array was not large enough for encryption", { cause });
    }
  },
  write(value, _context, head = nothing) {
    const nonce = chance.bytes(boxNonce);
    return joinedBriefly(head, nonce, xsalsa20poly1305(secret, nonce).encrypt(value));
  },
});

/** Of seeds, of the keys that are made of them, and of what they are made with. */
export const seedBytes = 32;

/** AES-GCM with a key for each write, which is made of the seed and of 32 bytes by chance that stand before the text. */
export function seededGcm(seed: Uint8Array, chance: Chance): ValueTransformer {
  if (seed.length < seedBytes) throw new Error(`invalid seed length ${seed.length} used for key generation`);
  const secret = createSecretKey(seed);
  /** HKDF's expansion by SHA-256 (RFC 5869), of which the first block is as long as the key. */
  const cipherOf = (info: Uint8Array) =>
    aesGcm(createHmac("sha256", secret).update(info).update(Uint8Array.of(1)).digest(), chance);
  return {
    read(stored, context) {
      if (stored.length < seedBytes) throw tooShort();
      return cipherOf(stored.subarray(0, seedBytes)).read(stored.subarray(seedBytes), context);
    },
    write(value, context, head = nothing) {
      const info = chance.bytes(seedBytes);
      return cipherOf(info).write(value, context, joined(head, info));
    },
  };
}

/** Without the methods of Buffer, whose `slice` shares memory where that of others copies. */
const plainBytes = ({ buffer, byteOffset, byteLength }: Buffer): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength);

/** The same chance, drawn for many writes at a time: to draw twelve bytes takes as long as four thousand. No byte is given twice. */
export function drawnInBulk(chance: Chance, bulk = 4096): Chance {
  let drawn = new Uint8Array();
  let used = 0;
  return {
    bytes(count) {
      if (used + count > drawn.length) {
        drawn = new Uint8Array(chance.bytes(Math.max(bulk, count)));
        used = 0;
      }
      used += count;
      return drawn.slice(used - count, used);
    },
  };
}
