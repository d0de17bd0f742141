import { dns1123Subdomain } from "#schema/formats.ts";
import {
  bool,
  bytes,
  type Infer,
  int32,
  int64,
  invalid,
  list,
  type Problem,
  ref,
  resource,
  string,
  struct,
  time,
} from "#schema/index.ts";
import { problemsOf } from "#schema/validate.ts";
import { under } from "../../core/v1/checks/problems.ts";
import { checkApproval, checkNames, checkSpec, checkSpecUpdate, checkStoredVersions } from "./checks.ts";
import { CustomResourceValidation } from "./json-schema.ts";

export const CustomResourceColumnDefinition = struct("apiextensions/v1.CustomResourceColumnDefinition", {
  name: string(1, "Heading of the column.").required(),
  type: string(2, "Type of its values: boolean, date, integer, number or string.").required(),
  format: string(3, "Format of its values, such as byte or int64."),
  description: string(4, "What the column shows."),
  priority: int32(5, "With a number above 0, shown only where there is room."),
  jsonPath: string(6, "Where the value is, such as .spec.size.").required(),
});
export interface CustomResourceColumnDefinition extends Infer<typeof CustomResourceColumnDefinition> {}

export const ServiceReference = struct("apiextensions/v1.ServiceReference", {
  namespace: string(1, "Namespace of the service.").required(),
  name: string(2, "Name of the service.").required(),
  path: string(3, "Path to send requests to.").pointer(),
  port: int32(4, "Port of the service.").pointer().default(443),
});
export interface ServiceReference extends Infer<typeof ServiceReference> {}

export const WebhookClientConfig = struct("apiextensions/v1.WebhookClientConfig", {
  url: string(3, "Where the webhook is, for one outside the cluster.").pointer(),
  service: ref(1, ServiceReference, "The service that runs it, for one inside."),
  caBundle: bytes(2, "Certificates to check the server's by; those of the system if absent."),
});
export interface WebhookClientConfig extends Infer<typeof WebhookClientConfig> {}

export const WebhookConversion = struct("apiextensions/v1.WebhookConversion", {
  clientConfig: ref(2, WebhookClientConfig, "Where to call the webhook."),
  conversionReviewVersions: list(3, "string", "Versions of the question it understands, the best first.").required(),
});
export interface WebhookConversion extends Infer<typeof WebhookConversion> {}

export const CustomResourceConversion = struct("apiextensions/v1.CustomResourceConversion", {
  strategy: string(1, "Only the apiVersion differs between versions (None), or a Webhook converts them.")
    .nonEmpty()
    .oneOf("None", "Webhook")
    .publishedAs()
    .required(),
  webhook: ref(2, WebhookConversion, "The webhook that converts."),
});
export interface CustomResourceConversion extends Infer<typeof CustomResourceConversion> {}

export const CustomResourceDefinitionCondition = struct("apiextensions/v1.CustomResourceDefinitionCondition", {
  type: string(1, "What the condition is about, such as Established or NamesAccepted.").required(),
  status: string(2, "True, False or Unknown.").required(),
  lastTransitionTime: time(3, "When the status last changed."),
  reason: string(4, "Why it last changed, in one word."),
  message: string(5, "Why it last changed, in a sentence."),
  observedGeneration: int64(6, "Generation of the spec that the condition describes."),
});
export interface CustomResourceDefinitionCondition extends Infer<typeof CustomResourceDefinitionCondition> {}

export const CustomResourceDefinitionNames = struct("apiextensions/v1.CustomResourceDefinitionNames", {
  plural: string(1, "Plural name, as in paths; in lower case. Cannot change.").required(),
  singular: string(2, "Singular name in lower case."),
  shortNames: list(3, "string", "Short names for people to type."),
  kind: string(4, "Kind of the objects, as they say it themselves.").required(),
  listKind: string(5, "Kind of lists of them."),
  categories: list(6, "string", "Categories they are listed under, such as all."),
});
export interface CustomResourceDefinitionNames extends Infer<typeof CustomResourceDefinitionNames> {}

export const CustomResourceSubresourceStatus = struct("apiextensions/v1.CustomResourceSubresourceStatus", {});
export interface CustomResourceSubresourceStatus extends Infer<typeof CustomResourceSubresourceStatus> {}

export const CustomResourceSubresourceScale = struct("apiextensions/v1.CustomResourceSubresourceScale", {
  specReplicasPath: string(1, "Where the wanted number is, below .spec.").required(),
  statusReplicasPath: string(2, "Where the present number is, below .status.").required(),
  labelSelectorPath: string(3, "Where the selector of the pods is, as text.").pointer(),
});
export interface CustomResourceSubresourceScale extends Infer<typeof CustomResourceSubresourceScale> {}

export const CustomResourceSubresources = struct("apiextensions/v1.CustomResourceSubresources", {
  status: ref(1, CustomResourceSubresourceStatus, "Set if the status is written separately from the rest."),
  scale: ref(2, CustomResourceSubresourceScale, "Set if the objects can be scaled."),
});
export interface CustomResourceSubresources extends Infer<typeof CustomResourceSubresources> {}

export const SelectableField = struct("apiextensions/v1.SelectableField", {
  jsonPath: string(1, "Where the field is, such as .spec.color.").required(),
});
export interface SelectableField extends Infer<typeof SelectableField> {}

export const CustomResourceDefinitionVersion = struct("apiextensions/v1.CustomResourceDefinitionVersion", {
  name: string(1, "Name of the version, such as v1 or v1beta2.").required(),
  served: bool(2, "Whether clients may use the version.").required(),
  storage: bool(3, "Whether objects are stored in this version; exactly one is.").required(),
  deprecated: bool(7, "Whether clients who use it are warned."),
  deprecationWarning: string(8, "What they are told instead of the usual words.").pointer(),
  schema: ref(4, CustomResourceValidation, "What the objects look like."),
  subresources: ref(5, CustomResourceSubresources, "Whether they have a separate status and a scale."),
  additionalPrinterColumns: list(6, CustomResourceColumnDefinition, "Columns for tables of them."),
  selectableFields: list(9, SelectableField, "Fields by which they can be selected."),
});
export interface CustomResourceDefinitionVersion extends Infer<typeof CustomResourceDefinitionVersion> {}

export const CustomResourceDefinitionSpec = struct(
  "apiextensions/v1.CustomResourceDefinitionSpec",
  {
    group: string(1, "Group of the resource, a domain. Cannot change.").required(),
    names: ref(3, CustomResourceDefinitionNames, "What the resource is called.").required(),
    scope: string(4, "Whether the objects belong to the Cluster or to namespaces (Namespaced).").required(),
    versions: list(7, CustomResourceDefinitionVersion, "The versions there are.").required(),
    conversion: ref(9, CustomResourceConversion, "How objects get from one version to another.")
      .pointer()
      .default({ strategy: "None" }),
    preserveUnknownFields: bool(10, "Must be false; for the schema to say where unknown fields stay."),
  },
  {
    complete({ names }) {
      if (!names?.kind) return;
      names.singular ||= names.kind.toLowerCase();
      names.listKind ||= `${names.kind}List`;
    },
    check: (spec): Iterable<Problem> => checkSpec(spec),
  },
);
export interface CustomResourceDefinitionSpec extends Infer<typeof CustomResourceDefinitionSpec> {}

export const CustomResourceDefinitionStatus = struct("apiextensions/v1.CustomResourceDefinitionStatus", {
  conditions: list(1, CustomResourceDefinitionCondition, "Whether the resource is served.")
    .keyedBy("type")
    .patch("replace")
    .always(),
  acceptedNames: ref(2, CustomResourceDefinitionNames, "The names it is served under.").default({}),
  storedVersions: list(3, "string", "Versions that objects may be stored in.").always(),
  observedGeneration: int64(4, "Generation of the spec that this status describes."),
});
export interface CustomResourceDefinitionStatus extends Infer<typeof CustomResourceDefinitionStatus> {}

export const CustomResourceDefinition = resource({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  storageVersion: "v1beta1",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  scope: "Cluster",
  doc: "A resource of your own that the server serves like those it comes with.",
  fields: {
    spec: ref(2, CustomResourceDefinitionSpec, "What is wanted.").required(),
    status: ref(3, CustomResourceDefinitionStatus, "What is served.").default({}),
  },
  subresources: { status: true },
  complete({ spec, status }) {
    if ((status.storedVersions ?? []).length > 0) return;
    const stored = (spec.versions ?? []).find(({ storage }) => storage);
    if (stored?.name) status.storedVersions = [stored.name];
  },
  nameFormat: (name, { spec: { names, group } }) => [
    ...dns1123Subdomain(name),
    ...(name === `${names.plural}.${group}` ? [] : ['must be spec.names.plural+"."+spec.group']),
  ],
  *check({ metadata, spec, status }, old): Iterable<Problem> {
    const isServed = old?.status.conditions?.some(({ type, status: is }) => type === "Established" && is === "True");
    if (old) yield* under("spec", problemsOf(spec, checkSpecUpdate(spec, old.spec, isServed ?? false)));
    yield* checkNames(status.acceptedNames, "status.acceptedNames");
    yield* checkStoredVersions(status.storedVersions, spec.versions);
    yield* checkApproval(spec.group, metadata.annotations, old?.metadata);
    if (spec.preserveUnknownFields && !old?.spec.preserveUnknownFields)
      yield invalid(
        "spec.preserveUnknownFields",
        "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
      );
  },
  *checkStatus({ status }): Iterable<Problem> {
    yield* checkNames(status.acceptedNames, "status.acceptedNames");
  },
});
export interface CustomResourceDefinition extends Infer<typeof CustomResourceDefinition> {}
