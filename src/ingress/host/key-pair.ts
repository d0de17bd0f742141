import { createPrivateKey, X509Certificate } from "node:crypto";
import type { KeyPairCheck } from "../secrets.ts";

/** Answers are kept: all certificates are looked at again with every change. */
const answers = new Map<string, boolean>();
const maxAnswers = 10_000;

export const isKeyPair: KeyPairCheck = (certificate, key) => {
  const known = answers.get(certificate + key);
  if (known !== undefined) return known;
  const answer = belongTogether(certificate, key);
  if (answers.size >= maxAnswers) answers.clear();
  answers.set(certificate + key, answer);
  return answer;
};

function belongTogether(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // one of them cannot be read
  }
}
