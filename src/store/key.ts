/** Longest key in UTF-8 bytes. Kubernetes' longest, of a custom resource in a namespace, has about 650. */
export const MAX_KEY_BYTES = 1_500;

const utf8 = new TextEncoder();

/** The key as UTF-8; throws RangeError for one that no engine could give back as it was. */
export function encodeKey(key: string): Uint8Array {
  if (key === "") throw new RangeError("a key must not be empty");
  if (!key.isWellFormed()) throw new RangeError(`key ${JSON.stringify(key)} is not well-formed Unicode`);
  const bytes = utf8.encode(key);
  if (bytes.length > MAX_KEY_BYTES)
    throw new RangeError(`key ${key.slice(0, 80)}… has ${bytes.length} bytes; at most ${MAX_KEY_BYTES} are allowed`);
  return bytes;
}
