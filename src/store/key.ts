/** Longest key in UTF-8 bytes. Kubernetes' longest, of a custom resource in a namespace, has about 650. */
export const maxKeyBytes = 1_500;

/** Throws RangeError for a key that not every engine could give back as it was. */
export function checkKey(key: string): void {
  if (key === "") throw new RangeError("a key must not be empty");
  if (!key.isWellFormed()) throw new RangeError(`key ${JSON.stringify(key)} is not well-formed Unicode`);
  if (key.length * 3 <= maxKeyBytes) return;
  const { length } = new TextEncoder().encode(key);
  if (length > maxKeyBytes)
    throw new RangeError(`key ${key.slice(0, 80)}… has ${length} bytes; at most ${maxKeyBytes} are allowed`);
}

/** The key as UTF-8, after checking it. */
export function encodeKey(key: string): Uint8Array {
  checkKey(key);
  return new TextEncoder().encode(key);
}
