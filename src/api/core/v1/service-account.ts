import { bool, type Infer, list, resource } from "#schema/index.ts";
import { TokenRequest } from "../../authentication/v1/token-request.ts";
import { LocalObjectReference, ObjectReference } from "./references.ts";

export const ServiceAccount = resource({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  returnsDeleted: true,
  shortNames: ["sa"],
  scope: "Namespaced",
  doc: "",
  fields: {
    secrets: list(2, ObjectReference).keyedBy("name"),
    imagePullSecrets: list(3, LocalObjectReference),
    automountServiceAccountToken: bool(4).pointer(),
  },
  subresources: { token: { kind: () => TokenRequest, verbs: ["create"] } },
});
export interface ServiceAccount extends Infer<typeof ServiceAccount> {}
