import { bool, type Infer, inline, quantity, ref, string, struct } from "#schema/index.ts";
import { LocalObjectReference } from "./references.ts";

export const ConfigMapEnvSource = struct("core/v1.ConfigMapEnvSource", {
  ...inline(1, LocalObjectReference),
  optional: bool(2).pointer(),
});
export interface ConfigMapEnvSource extends Infer<typeof ConfigMapEnvSource> {}

export const ConfigMapKeySelector = struct(
  "core/v1.ConfigMapKeySelector",
  {
    ...inline(1, LocalObjectReference),
    key: string(2).required(),
    optional: bool(3).pointer(),
  },
  { atomic: true },
);
export interface ConfigMapKeySelector extends Infer<typeof ConfigMapKeySelector> {}

export const SecretEnvSource = struct("core/v1.SecretEnvSource", {
  ...inline(1, LocalObjectReference),
  optional: bool(2).pointer(),
});
export interface SecretEnvSource extends Infer<typeof SecretEnvSource> {}

export const EnvFromSource = struct("core/v1.EnvFromSource", {
  prefix: string(1),
  configMapRef: ref(2, ConfigMapEnvSource),
  secretRef: ref(3, SecretEnvSource),
});
export interface EnvFromSource extends Infer<typeof EnvFromSource> {}

export const ObjectFieldSelector = struct(
  "core/v1.ObjectFieldSelector",
  {
    apiVersion: string(1).default("v1"),
    fieldPath: string(2).required(),
  },
  { atomic: true },
);
export interface ObjectFieldSelector extends Infer<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = struct(
  "core/v1.ResourceFieldSelector",
  {
    containerName: string(1),
    resource: string(2).required(),
    divisor: quantity(3),
  },
  { atomic: true },
);
export interface ResourceFieldSelector extends Infer<typeof ResourceFieldSelector> {}

export const SecretKeySelector = struct(
  "core/v1.SecretKeySelector",
  {
    ...inline(1, LocalObjectReference),
    key: string(2).required(),
    optional: bool(3).pointer(),
  },
  { atomic: true },
);
export interface SecretKeySelector extends Infer<typeof SecretKeySelector> {}

export const FileKeySelector = struct(
  "core/v1.FileKeySelector",
  {
    volumeName: string(1).required(),
    path: string(2).required(),
    key: string(3).required(),
    optional: bool(4).pointer().default(false),
  },
  { atomic: true },
);
export interface FileKeySelector extends Infer<typeof FileKeySelector> {}

export const EnvVarSource = struct("core/v1.EnvVarSource", {
  fieldRef: ref(1, ObjectFieldSelector),
  resourceFieldRef: ref(2, ResourceFieldSelector),
  configMapKeyRef: ref(3, ConfigMapKeySelector),
  secretKeyRef: ref(4, SecretKeySelector),
  fileKeyRef: ref(5, FileKeySelector),
});
export interface EnvVarSource extends Infer<typeof EnvVarSource> {}

export const EnvVar = struct("core/v1.EnvVar", {
  name: string(1).required(),
  value: string(2),
  valueFrom: ref(3, EnvVarSource),
});
export interface EnvVar extends Infer<typeof EnvVar> {}
