import { ageColumn, nameColumn } from "#schema/columns.ts";
import { bool, type Infer, list, resource } from "#schema/index.ts";
import { TokenRequest } from "../../authentication/v1/token-request.ts";
import { LocalObjectReference, ObjectReference } from "./references.ts";

export const ServiceAccount = resource({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  shortNames: ["sa"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "An identity for what runs in pods; roles are bound to it as to a user.",
  fields: {
    secrets: list(2, ObjectReference, "Secrets its pods may use; tokens are no longer kept here.").keyedBy("name"),
    imagePullSecrets: list(3, LocalObjectReference, "Secrets with which its pods pull images."),
    automountServiceAccountToken: bool(4, "Whether its pods get a token; a pod's own say goes first.").pointer(),
  },
  subresources: { token: { kind: () => TokenRequest, verbs: ["create"] } },
  columns: [nameColumn, ageColumn],
});
export interface ServiceAccount extends Infer<typeof ServiceAccount> {}
