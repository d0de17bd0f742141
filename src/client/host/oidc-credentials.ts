// Tokens of OpenID Connect that are renewed when they end: the `auth-provider` named oidc of a kubeconfig's user. Follows
// client-go/plugin/pkg/client/auth/oidc upstream; what is renewed is kept in memory, and not written back to the file.
import { Agent, request } from "node:https";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { type CredentialSource, type ExpiringCredential, ExpiringCredentials } from "../credentials.ts";

const timeoutMs = 10_000;
const mostBytes = 1024 * 1024;
/** A token that ends within this time counts as ended. */
const earlyMs = 10_000;

/** Throws UsageError for a provider that is not known, or does not say what it needs to. */
export function oidcCredentials(provider: unknown, readFile: (path: string) => string, clock: Clock): CredentialSource {
  if (!isObject(provider) || provider.name !== "oidc")
    throw new UsageError(
      `auth-provider: ${JSON.stringify(isObject(provider) ? provider.name : provider)} is not known; use oidc, or exec`,
    );
  const config = isObject(provider.config) ? provider.config : {};
  const text = (field: string): string => (typeof config[field] === "string" ? config[field] : "");
  const [issuer, client] = [text("idp-issuer-url"), text("client-id")];
  if (issuer === "" || client === "") throw new UsageError("auth-provider: Must provide idp-issuer-url and client-id");
  const data = text("idp-certificate-authority-data");
  const file = text("idp-certificate-authority");
  const ca = data !== "" ? Buffer.from(data, "base64").toString() : file === "" ? undefined : readFile(file);
  const agent = new Agent(ca === undefined ? {} : { ca });
  let idToken = text("id-token");
  let refreshToken = text("refresh-token");
  const renewed = async (): Promise<void> => {
    if (refreshToken === "") throw new Error("No valid id-token, and cannot refresh without refresh-token");
    const place = await json(new URL(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`), agent, clock);
    if (typeof place.token_endpoint !== "string") throw new Error("oidc: the issuer has no token_endpoint");
    const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: client });
    const secret = text("client-secret");
    if (secret !== "") form.set("client_secret", secret);
    const answer = await json(new URL(place.token_endpoint), agent, clock, form.toString());
    if (typeof answer.id_token !== "string") throw new Error("oidc: token response did not contain an id_token");
    idToken = answer.id_token;
    if (typeof answer.refresh_token === "string") refreshToken = answer.refresh_token;
  };
  let isFirst = true;
  return new ExpiringCredentials(async (): Promise<ExpiringCredential> => {
    // The one in the file may still be good; one that the server has not taken is not.
    if (!isFirst || idToken === "" || endOf(idToken) - earlyMs <= clock.now()) await renewed();
    isFirst = false;
    return { credentials: { authorization: `Bearer ${idToken}` }, until: endOf(idToken) - earlyMs };
  }, clock);
}

/** When a token says it ends; at once if it does not say. */
function endOf(token: string): number {
  try {
    const { value: claims } = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    return isObject(claims) && typeof claims.exp === "number" ? claims.exp * 1000 : 0;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return 0; // what is no token has ended
  }
}

function json(url: URL, agent: Agent, clock: Clock, form?: string): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    const headers = {
      accept: "application/json",
      ...(form && { "content-type": "application/x-www-form-urlencoded" }),
    };
    const outgoing = request(url, { agent, method: form === undefined ? "GET" : "POST", headers }, (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on("data", (part: Buffer) => {
        size += part.length;
        parts.push(part);
        if (size > mostBytes) outgoing.destroy(new Error(`what ${url.host} answers is too large`));
      });
      response.on("error", fail);
      response.on("end", () => {
        cancel();
        if (response.statusCode !== 200) return reject(new Error(`oidc: ${url.host} answered ${response.statusCode}`));
        try {
          const { value } = parseJson(Buffer.concat(parts).toString());
          if (!isObject(value)) throw new Error(`oidc: ${url.host} did not answer with an object`);
          resolve(value);
        } catch (error) {
          reject(error);
        }
      });
    });
    const cancel = clock.after(timeoutMs, () => outgoing.destroy(new Error(`${url.host} does not answer`)));
    const fail = (error: Error): void => {
      cancel();
      reject(error);
    };
    outgoing.on("error", fail);
    outgoing.end(form);
  });
}
