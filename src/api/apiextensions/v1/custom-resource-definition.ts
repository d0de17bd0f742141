import { bool, bytes, type Infer, int32, int64, list, ref, resource, string, struct, time } from "#schema/index.ts";
import { CustomResourceValidation } from "./json-schema.ts";

export const CustomResourceColumnDefinition = struct("apiextensions/v1.CustomResourceColumnDefinition", {
  name: string(1).required(),
  type: string(2).required(),
  format: string(3),
  description: string(4),
  priority: int32(5),
  jsonPath: string(6).required(),
});
export interface CustomResourceColumnDefinition extends Infer<typeof CustomResourceColumnDefinition> {}

export const ServiceReference = struct("apiextensions/v1.ServiceReference", {
  namespace: string(1).required(),
  name: string(2).required(),
  path: string(3).pointer(),
  port: int32(4).pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const WebhookClientConfig = struct("apiextensions/v1.WebhookClientConfig", {
  url: string(3).pointer(),
  service: ref(1, ServiceReference),
  caBundle: bytes(2),
});
export interface WebhookClientConfig extends Infer<typeof WebhookClientConfig> {}

export const WebhookConversion = struct("apiextensions/v1.WebhookConversion", {
  clientConfig: ref(2, WebhookClientConfig),
  conversionReviewVersions: list(3, "string").required(),
});
export interface WebhookConversion extends Infer<typeof WebhookConversion> {}

export const CustomResourceConversion = struct("apiextensions/v1.CustomResourceConversion", {
  strategy: string(1).required(),
  webhook: ref(2, WebhookConversion),
});
export interface CustomResourceConversion extends Infer<typeof CustomResourceConversion> {}

export const CustomResourceDefinitionCondition = struct("apiextensions/v1.CustomResourceDefinitionCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastTransitionTime: time(3),
  reason: string(4),
  message: string(5),
  observedGeneration: int64(6),
});
export interface CustomResourceDefinitionCondition extends Infer<typeof CustomResourceDefinitionCondition> {}

export const CustomResourceDefinitionNames = struct("apiextensions/v1.CustomResourceDefinitionNames", {
  plural: string(1).required(),
  singular: string(2),
  shortNames: list(3, "string"),
  kind: string(4).required(),
  listKind: string(5),
  categories: list(6, "string"),
});
export interface CustomResourceDefinitionNames extends Infer<typeof CustomResourceDefinitionNames> {}

export const CustomResourceSubresourceStatus = struct("apiextensions/v1.CustomResourceSubresourceStatus", {});
export interface CustomResourceSubresourceStatus extends Infer<typeof CustomResourceSubresourceStatus> {}

export const CustomResourceSubresourceScale = struct("apiextensions/v1.CustomResourceSubresourceScale", {
  specReplicasPath: string(1).required(),
  statusReplicasPath: string(2).required(),
  labelSelectorPath: string(3).pointer(),
});
export interface CustomResourceSubresourceScale extends Infer<typeof CustomResourceSubresourceScale> {}

export const CustomResourceSubresources = struct("apiextensions/v1.CustomResourceSubresources", {
  status: ref(1, CustomResourceSubresourceStatus),
  scale: ref(2, CustomResourceSubresourceScale),
});
export interface CustomResourceSubresources extends Infer<typeof CustomResourceSubresources> {}

export const SelectableField = struct("apiextensions/v1.SelectableField", {
  jsonPath: string(1).required(),
});
export interface SelectableField extends Infer<typeof SelectableField> {}

export const CustomResourceDefinitionVersion = struct("apiextensions/v1.CustomResourceDefinitionVersion", {
  name: string(1).required(),
  served: bool(2).required(),
  storage: bool(3).required(),
  deprecated: bool(7),
  deprecationWarning: string(8).pointer(),
  schema: ref(4, CustomResourceValidation),
  subresources: ref(5, CustomResourceSubresources),
  additionalPrinterColumns: list(6, CustomResourceColumnDefinition),
  selectableFields: list(9, SelectableField),
});
export interface CustomResourceDefinitionVersion extends Infer<typeof CustomResourceDefinitionVersion> {}

export const CustomResourceDefinitionSpec = struct("apiextensions/v1.CustomResourceDefinitionSpec", {
  group: string(1).required(),
  names: ref(3, CustomResourceDefinitionNames).required(),
  scope: string(4).required(),
  versions: list(7, CustomResourceDefinitionVersion).required(),
  conversion: ref(9, CustomResourceConversion).pointer().default({ strategy: "None" }),
  preserveUnknownFields: bool(10),
});
export interface CustomResourceDefinitionSpec extends Infer<typeof CustomResourceDefinitionSpec> {}

export const CustomResourceDefinitionStatus = struct("apiextensions/v1.CustomResourceDefinitionStatus", {
  conditions: list(1, CustomResourceDefinitionCondition).keyedBy("type").patch("replace").always(),
  acceptedNames: ref(2, CustomResourceDefinitionNames).default({}),
  storedVersions: list(3, "string").always(),
  observedGeneration: int64(4),
});
export interface CustomResourceDefinitionStatus extends Infer<typeof CustomResourceDefinitionStatus> {}

export const CustomResourceDefinition = resource({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, CustomResourceDefinitionSpec).required(),
    status: ref(3, CustomResourceDefinitionStatus).default({}),
  },
  subresources: { status: true },
});
export interface CustomResourceDefinition extends Infer<typeof CustomResourceDefinition> {}
