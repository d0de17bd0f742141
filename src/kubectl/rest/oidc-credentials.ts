// Tokens of an OpenID Connect provider, as `auth-provider: oidc` has them (upstream: client-go/plugin/pkg/client/auth/oidc/oidc.go).
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { type Io, readAll } from "../io.ts";
import { parseAnswer } from "./client.ts";
import { type CredentialIssuer, type IssuedCredentials, pem } from "./credentials.ts";

type OidcConfig = Readonly<Record<string, string>>;

/** A token that ends sooner than this is no longer used. */
const marginMs = 10_000;
const answerLimit = 1024 * 1024;

/** `save` keeps new tokens in the kubeconfig. Throws KubectlError for what is not set. */
export function oidcCredentials(
  given: Readonly<Record<string, unknown>>,
  io: Io,
  save: (config: OidcConfig) => Promise<void>,
): CredentialIssuer {
  let config: OidcConfig = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  for (const name of ["idp-issuer-url", "client-id"]) if (!config[name]) throw new KubectlError(`Must provide ${name}`);
  let known: IssuedCredentials | undefined;
  return {
    async current() {
      if (known?.expiresAt !== undefined && io.clock.now() < known.expiresAt - marginMs) return known;
      const token = config["id-token"] ?? "";
      if (expiryOf(token) - marginMs <= io.clock.now() || token === "") {
        config = await refreshed(config, io);
        await save(config);
      }
      const now = config["id-token"] ?? "";
      known = { authorization: `Bearer ${now}`, expiresAt: expiryOf(now) };
      return known;
    },
    refused() {
      known = undefined;
    },
  };
}

/** When a token ends, in milliseconds; 0 for what is no token. */
function expiryOf(token: string): number {
  try {
    const claims: unknown = parseAnswer(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
    return isObject(claims) && typeof claims.exp === "number" ? claims.exp * 1000 : 0;
  } catch {
    return 0; // whatever it is, the server would not take it
  }
}

async function refreshed(config: OidcConfig, io: Io): Promise<OidcConfig> {
  const refreshToken = config["refresh-token"] ?? "";
  if (refreshToken === "") throw new KubectlError("No valid id-token, and cannot refresh without refresh-token");
  const ca = pem(config, "idp-certificate-authority");
  const issuer = (config["idp-issuer-url"] ?? "").replace(/\/$/, "");
  const found = await ask(new URL(`${issuer}/.well-known/openid-configuration`), ca, io);
  const endpoint = isObject(found) ? found.token_endpoint : undefined;
  if (typeof endpoint !== "string" || endpoint === "")
    throw new KubectlError("oidc: discovery object doesn't contain a token_endpoint");
  const secret = config["client-secret"] ?? "";
  const form = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken });
  const user = Buffer.from(`${encodeURIComponent(config["client-id"] ?? "")}:${encodeURIComponent(secret)}`);
  const answer = await ask(new URL(endpoint), ca, io, { form, authorization: `Basic ${user.toString("base64")}` });
  const { id_token: idToken, refresh_token: next } = isObject(answer) ? answer : {};
  if (typeof idToken !== "string")
    throw new KubectlError(
      "token response did not contain an id_token, either the scope \"openid\" wasn't requested upon login, or the provider doesn't support id_tokens as part of the refresh response",
    );
  return {
    ...config,
    "id-token": idToken,
    ...(typeof next === "string" && next !== "" && next !== refreshToken && { "refresh-token": next }),
  };
}

interface TokenRequest {
  readonly form: URLSearchParams;
  readonly authorization: string;
}

async function ask(url: URL, ca: string | undefined, io: Io, sent?: TokenRequest): Promise<unknown> {
  const body = sent?.form.toString();
  const { status, text } = await new Promise<{ readonly status: string; readonly text: string }>((done, fail) => {
    const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(
      url,
      {
        method: sent ? "POST" : "GET",
        ...(ca !== undefined && { ca }),
        headers: {
          accept: "application/json",
          ...(sent && { "content-type": "application/x-www-form-urlencoded", authorization: sent.authorization }),
        },
        signal: io.signal,
      },
      (answer) =>
        readAll(answer, answerLimit).then(
          (bytes) =>
            done({ status: `${answer.statusCode} ${answer.statusMessage}`, text: Buffer.from(bytes).toString("utf8") }),
          fail,
        ),
    );
    request.once("error", fail);
    request.end(body);
  }).catch((cause: Error) => {
    throw new KubectlError(sent ? `failed to refresh token: ${cause.message}` : cause.message, { cause });
  });
  if (!status.startsWith("200"))
    throw new KubectlError(
      sent
        ? `failed to refresh token: oauth2: cannot fetch token: ${status}\nResponse: ${text}`
        : `oidc: failed to query metadata endpoint ${status}: ${JSON.stringify(text)}`,
    );
  try {
    return parseAnswer(text);
  } catch (cause) {
    throw new KubectlError(`oidc: failed to decode provider discovery object: ${(cause as Error).message}`, { cause });
  }
}
