// Tokens by which machines join, as secrets of kube-system.
// Upstream: cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go.
import { Secret } from "#api/core/v1/secret.ts";
import { UsageError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import {
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  bootstrapTokenType,
  tokenEnd,
  tokenValue,
} from "#rules/bootstrap-tokens.ts";
import type { Draft } from "#schema/infer.ts";
import { timeOf } from "#schema/time.ts";
import { joinGroup } from "./join-objects.ts";

export interface JoinToken {
  readonly id: string;
  readonly secret: string;
}

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const letters = "0123456789abcdefghijklmnopqrstuvwxyz";

export function parseToken(text: string): JoinToken {
  const [, id, secret] = form.exec(text) ?? [];
  if (id === undefined || secret === undefined)
    throw new UsageError(`${JSON.stringify(text)} is not a token such as abcdef.0123456789abcdef`);
  return { id, secret };
}

export function makeToken(random: Random): JoinToken {
  const word = (length: number): string => {
    let text = "";
    // Of a byte the values above the last whole multiple are left out: all letters are then as likely.
    while (text.length < length)
      for (const byte of random.bytes(length))
        if (byte < 252 && text.length < length) text += letters[byte % letters.length];
    return text;
  };
  return { id: word(6), secret: word(16) };
}

export interface TokenTerms {
  /** Undefined for ever. */
  readonly endsAt: number | undefined;
  readonly description: string | undefined;
}

export function tokenSecret({ id, secret }: JoinToken, { endsAt, description }: TokenTerms): Draft<Secret> {
  const values = {
    "token-id": id,
    "token-secret": secret,
    "usage-bootstrap-authentication": "true",
    "usage-bootstrap-signing": "true",
    "auth-extra-groups": joinGroup,
    ...(endsAt !== undefined && { expiration: timeOf(endsAt) }),
    ...(description !== undefined && { description }),
  };
  return {
    apiVersion: Secret.apiVersion,
    kind: Secret.kind,
    metadata: { name: secretName(id), namespace: bootstrapTokenNamespace },
    type: bootstrapTokenType,
    data: Object.fromEntries(
      Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    ),
  };
}

export const secretName = (id: string): string => `${bootstrapTokenPrefix}${id}`;

export interface TokenRow {
  readonly token: string;
  readonly endsAt: number | undefined;
  readonly usages: readonly string[];
  readonly description: string;
}

/** What a secret says of its token; undefined if it is none. */
export function tokenRow(secret: Secret): TokenRow | undefined {
  const [id, word] = [tokenValue(secret, "token-id"), tokenValue(secret, "token-secret")];
  if (secret.type !== bootstrapTokenType || id === "" || word === "") return undefined;
  const usages = ["authentication", "signing"].filter(
    (usage) => tokenValue(secret, `usage-bootstrap-${usage}`) === "true",
  );
  return { token: `${id}.${word}`, endsAt: tokenEnd(secret), usages, description: tokenValue(secret, "description") };
}
