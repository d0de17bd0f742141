import { type Infer, string, struct } from "#schema/index.ts";

export const LocalObjectReference = struct(
  "core/v1.LocalObjectReference",
  {
    name: string(1, "Name of the object.").zeroKey(),
  },
  { doc: "An object in the same namespace, of a kind the field that holds this says.", atomic: true },
);
export interface LocalObjectReference extends Infer<typeof LocalObjectReference> {}

export const ObjectReference = struct(
  "core/v1.ObjectReference",
  {
    kind: string(1, "Kind of the object."),
    namespace: string(2, "Namespace of the object."),
    name: string(3, "Name of the object."),
    uid: string(4, "Uid of the object, to tell it from another of the same name."),
    apiVersion: string(5, "Group and version the kind belongs to."),
    resourceVersion: string(6, "The revision of the object that is meant."),
    fieldPath: string(7, "The part of the object that is meant, such as spec.containers{web}."),
  },
  { doc: "Any object, and perhaps a part of it.", atomic: true },
);
export interface ObjectReference extends Infer<typeof ObjectReference> {}

export const SecretReference = struct(
  "core/v1.SecretReference",
  {
    name: string(1, "Name of the secret."),
    namespace: string(2, "Namespace of the secret."),
  },
  { doc: "A secret in any namespace.", atomic: true },
);
export interface SecretReference extends Infer<typeof SecretReference> {}

export const TypedLocalObjectReference = struct(
  "core/v1.TypedLocalObjectReference",
  {
    apiGroup: string(1, "Group of the kind; the core group when left out.").nullable(),
    kind: string(2, "Kind of the object.").required().nonEmpty(),
    name: string(3, "Name of the object.").required().nonEmpty(),
  },
  { doc: "An object of any kind in the same namespace.", atomic: true },
);
export interface TypedLocalObjectReference extends Infer<typeof TypedLocalObjectReference> {}

export const TypedObjectReference = struct(
  "core/v1.TypedObjectReference",
  {
    apiGroup: string(1, "Group of the kind; the core group when left out.").nullable(),
    kind: string(2, "Kind of the object.").required().nonEmpty(),
    name: string(3, "Name of the object.").required().nonEmpty(),
    namespace: string(4, "Namespace of the object; the own one when left out.").pointer(),
  },
  { doc: "An object of any kind." },
);
export interface TypedObjectReference extends Infer<typeof TypedObjectReference> {}
