import { type Infer, int64, list, ref, resource, string, struct, time } from "#schema/index.ts";

export const BoundObjectReference = struct("authentication/v1.BoundObjectReference", {
  kind: string(1),
  apiVersion: string(2),
  name: string(3),
  uid: string(4),
});
export interface BoundObjectReference extends Infer<typeof BoundObjectReference> {}

export const TokenRequestSpec = struct("authentication/v1.TokenRequestSpec", {
  audiences: list(1, "string").always(),
  expirationSeconds: int64(4).pointer().default(3600),
  boundObjectRef: ref(3, BoundObjectReference),
});
export interface TokenRequestSpec extends Infer<typeof TokenRequestSpec> {}

export const TokenRequestStatus = struct("authentication/v1.TokenRequestStatus", {
  token: string(1).always(),
  expirationTimestamp: time(2).always(),
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
  doc: "",
  fields: {
    spec: ref(2, TokenRequestSpec).default({}),
    status: ref(3, TokenRequestStatus).default({}),
  },
});
export interface TokenRequest extends Infer<typeof TokenRequest> {}
