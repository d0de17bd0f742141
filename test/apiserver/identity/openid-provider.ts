// `oidc-provider`, which has no types: only what the test needs of it.
import type { IncomingMessage, ServerResponse } from "node:http";

type Serve = (request: IncomingMessage, response: ServerResponse) => unknown;

interface ProviderClass {
  new (issuer: string, configuration: object): { callback(): Serve };
}

const { Provider } = (await import("oidc-provider" as string)) as { Provider: ProviderClass };

const client = (name: string) => ({
  client_id: name,
  client_secret: `secret-of-${name}`,
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
});

/** Gives clients tokens for the audience, signed with the first of the keys; shows all of them. */
export const openIdProvider = (issuer: string, keys: readonly object[], audience: string): Serve =>
  new Provider(issuer, {
    clients: ["ann", "bob"].map(client),
    jwks: { keys },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope: "",
          audience,
          accessTokenTTL: 3600,
          accessTokenFormat: "jwt",
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  }).callback();
