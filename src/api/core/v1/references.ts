import { type Infer, string, struct } from "#schema/index.ts";

export const LocalObjectReference = struct(
  "core/v1.LocalObjectReference",
  {
    name: string(1).zeroKey(),
  },
  { atomic: true },
);
export interface LocalObjectReference extends Infer<typeof LocalObjectReference> {}

export const ObjectReference = struct(
  "core/v1.ObjectReference",
  {
    kind: string(1),
    namespace: string(2),
    name: string(3),
    uid: string(4),
    apiVersion: string(5),
    resourceVersion: string(6),
    fieldPath: string(7),
  },
  { atomic: true },
);
export interface ObjectReference extends Infer<typeof ObjectReference> {}

export const SecretReference = struct(
  "core/v1.SecretReference",
  {
    name: string(1),
    namespace: string(2),
  },
  { atomic: true },
);
export interface SecretReference extends Infer<typeof SecretReference> {}

export const TypedLocalObjectReference = struct(
  "core/v1.TypedLocalObjectReference",
  {
    apiGroup: string(1).pointer(),
    kind: string(2).required(),
    name: string(3).required(),
  },
  { atomic: true },
);
export interface TypedLocalObjectReference extends Infer<typeof TypedLocalObjectReference> {}

export const TypedObjectReference = struct("core/v1.TypedObjectReference", {
  apiGroup: string(1).pointer(),
  kind: string(2).required(),
  name: string(3).required(),
  namespace: string(4).off("CrossNamespaceVolumeDataSource").pointer(),
});
export interface TypedObjectReference extends Infer<typeof TypedObjectReference> {}
