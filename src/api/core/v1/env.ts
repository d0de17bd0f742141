// Where the environment of a container comes from.

import { dns1123Label, relaxedEnvVarName } from "#schema/formats.ts";
import { bool, type Infer, inline, type Problem, quantity, ref, string, struct } from "#schema/index.ts";
import { checkEnvVarSource, checkFileKey, checkKeySelector, checkNamedSource } from "./checks/env.ts";
import { LocalObjectReference } from "./references.ts";

export const ConfigMapEnvSource = struct(
  "core/v1.ConfigMapEnvSource",
  {
    ...inline(1, LocalObjectReference),
    optional: bool(2, "Whether the container may start when there is no such config map.").pointer(),
  },
  {
    doc: "All keys of a config map, each as a variable.",
    check: (source): Iterable<Problem> => checkNamedSource(source),
  },
);
export interface ConfigMapEnvSource extends Infer<typeof ConfigMapEnvSource> {}

export const ConfigMapKeySelector = struct(
  "core/v1.ConfigMapKeySelector",
  {
    ...inline(1, LocalObjectReference),
    key: string(2, "The key whose value is wanted.").required(),
    optional: bool(3, "Whether the config map or the key may be missing.").pointer(),
  },
  {
    doc: "One key of a config map.",
    atomic: true,
    check: (selector): Iterable<Problem> => checkKeySelector(selector),
  },
);
export interface ConfigMapKeySelector extends Infer<typeof ConfigMapKeySelector> {}

export const SecretEnvSource = struct(
  "core/v1.SecretEnvSource",
  {
    ...inline(1, LocalObjectReference),
    optional: bool(2, "Whether the container may start when there is no such secret.").pointer(),
  },
  { doc: "All keys of a secret, each as a variable.", check: (source): Iterable<Problem> => checkNamedSource(source) },
);
export interface SecretEnvSource extends Infer<typeof SecretEnvSource> {}

export const EnvFromSource = struct(
  "core/v1.EnvFromSource",
  {
    prefix: string(1, "Put in front of every key to make the variable's name.").is(relaxedEnvVarName),
    configMapRef: ref(2, ConfigMapEnvSource, "Take the keys of this config map."),
    secretRef: ref(3, SecretEnvSource, "Take the keys of this secret."),
  },
  { doc: "Many variables at once." },
);
export interface EnvFromSource extends Infer<typeof EnvFromSource> {}

export const ObjectFieldSelector = struct(
  "core/v1.ObjectFieldSelector",
  {
    apiVersion: string(1, "Version of the pod the path is written for.").default("v1"),
    fieldPath: string(2, "Path of a field of the pod, such as metadata.name.").required(),
  },
  { doc: "A field of the pod itself.", atomic: true },
);
export interface ObjectFieldSelector extends Infer<typeof ObjectFieldSelector> {}

export const ResourceFieldSelector = struct(
  "core/v1.ResourceFieldSelector",
  {
    containerName: string(1, "The container whose resources are meant; needed in volumes."),
    resource: string(2, "The amount that is wanted, such as limits.cpu.").required(),
    divisor: quantity(3, "The unit to give it in; 0 stands for 1.").always(),
  },
  { doc: "A limit or request of a container.", atomic: true },
);
export interface ResourceFieldSelector extends Infer<typeof ResourceFieldSelector> {}

export const SecretKeySelector = struct(
  "core/v1.SecretKeySelector",
  {
    ...inline(1, LocalObjectReference),
    key: string(2, "The key whose value is wanted.").required(),
    optional: bool(3, "Whether the secret or the key may be missing.").pointer(),
  },
  { doc: "One key of a secret.", atomic: true, check: (selector): Iterable<Problem> => checkKeySelector(selector) },
);
export interface SecretKeySelector extends Infer<typeof SecretKeySelector> {}

export const FileKeySelector = struct(
  "core/v1.FileKeySelector",
  {
    volumeName: string(1, "The emptyDir volume that holds the file.").required().nonEmpty().is(dns1123Label),
    path: string(2, "Path of the file within the volume.").required().nonEmpty(),
    key: string(3, "The variable in the file whose value is wanted.").required().nonEmpty().is(relaxedEnvVarName),
    optional: bool(4, "Whether the file or the variable may be missing.").pointer().default(false),
  },
  {
    doc: "One variable of a file that an init container wrote.",
    atomic: true,
    check: (selector): Iterable<Problem> => checkFileKey(selector),
  },
);
export interface FileKeySelector extends Infer<typeof FileKeySelector> {}

export const EnvVarSource = struct(
  "core/v1.EnvVarSource",
  {
    fieldRef: ref(1, ObjectFieldSelector, "A field of the pod, such as its name or address."),
    resourceFieldRef: ref(2, ResourceFieldSelector, "A limit or request of the container."),
    configMapKeyRef: ref(3, ConfigMapKeySelector, "A key of a config map."),
    secretKeyRef: ref(4, SecretKeySelector, "A key of a secret."),
    fileKeyRef: ref(5, FileKeySelector, "A variable of a file in a volume."),
  },
  { doc: "Where a variable's value is taken from." },
);
export interface EnvVarSource extends Infer<typeof EnvVarSource> {}

export const EnvVar = struct(
  "core/v1.EnvVar",
  {
    name: string(1, "Name of the variable.").required().nonEmpty().is(relaxedEnvVarName),
    value: string(2, "Its value; $(NAME) is replaced by the value of an earlier variable."),
    valueFrom: ref(3, EnvVarSource, "Where to take the value from instead."),
  },
  {
    doc: "One variable of a container's environment.",
    check: (variable): Iterable<Problem> => checkEnvVarSource(variable),
  },
);
export interface EnvVar extends Infer<typeof EnvVar> {}
