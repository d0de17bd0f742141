import { sha256 as digest } from "@noble/hashes/sha2.js";

/** SHA-256 without Node's modules, for names that must be equal everywhere: hashes of versions and of documents. */
export const sha256 = (text: string | Uint8Array): Uint8Array =>
  digest(typeof text === "string" ? new TextEncoder().encode(text) : text);
