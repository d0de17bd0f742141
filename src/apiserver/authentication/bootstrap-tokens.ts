// Tokens by which new nodes join: each is a Secret in kube-system, and good until it ends or the Secret is gone. Follows
// plugin/pkg/auth/authenticator/token/bootstrap upstream.
import { Secret } from "#api/core/v1/secret.ts";
import type { Clock } from "#base/clock.ts";
import {
  bootstrapTokenNamespace,
  bootstrapTokenPrefix,
  bootstrapTokenType,
  tokenEnd,
  tokenValue,
} from "#rules/bootstrap-tokens.ts";
import { keyPrefix } from "../store-follower.ts";
import type { CacheOf } from "../watch-cache.ts";
import { isSameText } from "./same-text.ts";
import type { TokenAuthenticator } from "./token-authenticators.ts";

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenOptions {
  readonly cacheOf: CacheOf;
  readonly clock: Clock;
}

/** Says nothing of a token that is not good: others may know it. */
export const bootstrapTokens =
  ({ cacheOf, clock }: BootstrapTokenOptions): TokenAuthenticator =>
  async (token, audiences) => {
    const [, id, shown] = form.exec(token) ?? [];
    if (id === undefined || shown === undefined) return undefined;
    const secret = cacheOf(Secret).get(
      `${keyPrefix(Secret)}${bootstrapTokenNamespace}/${bootstrapTokenPrefix}${id}`,
    )?.object;
    if (!secret || secret.metadata.deletionTimestamp !== undefined) return undefined;
    if (secret.type !== bootstrapTokenType) return undefined;
    const data = (key: string): string => tokenValue(secret, key);
    if (!isSameText(data("token-secret"), shown) || data("token-id") !== id) return undefined;
    if (data("usage-bootstrap-authentication") !== "true") return undefined;
    if ((tokenEnd(secret) ?? Number.POSITIVE_INFINITY) <= clock.now()) return undefined;
    const groups = groupsIn(data("auth-extra-groups"));
    if (!groups) return undefined;
    const user = { name: `system:bootstrap:${id}`, groups: ["system:bootstrappers", ...groups] };
    return { user, audiences };
  };

/** Undefined if one of them is none that such a token may give. */
function groupsIn(text: string): readonly string[] | undefined {
  const groups = [...new Set(text.split(",").filter((group) => group !== ""))].sort();
  return groups.every((group) => groupForm.test(group)) ? groups : undefined;
}
