import { type Infer, int64, invalid, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const BoundObjectReference = struct("authentication/v1.BoundObjectReference", {
  kind: string(1, "Pod, Secret or Node."),
  apiVersion: string(2, "Version of the object."),
  name: string(3, "Name of the object."),
  uid: string(4, "Uid of the object."),
});
export interface BoundObjectReference extends Infer<typeof BoundObjectReference> {}

export const TokenRequestSpec = struct(
  "authentication/v1.TokenRequestSpec",
  {
    audiences: list(1, "string", "Who the token is for.").always(),
    expirationSeconds: int64(4, "How long it should be good for.").pointer().default(3600),
    boundObjectRef: ref(3, BoundObjectReference, "The token is good only as long as this object exists.").nullable(),
  },
  {
    *check({ expirationSeconds }) {
      if (expirationSeconds < 600)
        yield invalid("expirationSeconds", "may not specify a duration less than 10 minutes");
      if (expirationSeconds > 2 ** 32)
        yield invalid("expirationSeconds", "may not specify a duration larger than 2^32 seconds");
    },
  },
);
export interface TokenRequestSpec extends Infer<typeof TokenRequestSpec> {}

export const TokenRequestStatus = struct("authentication/v1.TokenRequestStatus", {
  token: string(1, "The token.").always(),
  expirationTimestamp: time(2, "Until when it is good.").always(),
});
export interface TokenRequestStatus extends Infer<typeof TokenRequestStatus> {}

export const TokenRequest = resource({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  scope: "Namespaced",
  verbs: ["create"],
  stored: false,
  doc: "Asks for a token of a service account.",
  fields: {
    spec: ref(2, TokenRequestSpec, "What is asked for.").default({}),
    status: ref(3, TokenRequestStatus, "The token.").default({}),
  },
});
export interface TokenRequest extends Infer<typeof TokenRequest> {}
