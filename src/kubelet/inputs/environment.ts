// The environment variables of a container; later sources replace earlier ones.
// Upstream: pkg/kubelet/kubelet_pods.go and pkg/kubelet/envvars/envvars.go.
import type { Container } from "#api/core/v1/container.ts";
import type { FileKeySelector } from "#api/core/v1/env.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Service } from "#api/core/v1/service.ts";
import { fromBase64 } from "#base/base64.ts";
import { clusterAddresses } from "#rules/services.ts";
import { decodeUtf8 } from "#schema/json.ts";
import { isStatic } from "../static-pods/static-pod.ts";
import { envFileValue } from "./env-file.ts";
import { amountOf, fieldOf } from "./fields.ts";
import { InputMissing, type InputSources, type PodContext } from "./sources.ts";

export interface Variable {
  readonly name: string;
  readonly value: string;
}

export async function environmentOf(
  pod: Pod,
  container: Container,
  sources: InputSources,
  context: PodContext,
): Promise<readonly Variable[]> {
  const variables = new Map<string, string>();
  for (const [name, value] of await serviceVariables(pod, sources)) variables.set(name, value);
  for (const [name, value] of await fromWholeObjects(pod, container, sources)) variables.set(name, value);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const text = valueFrom
      ? await sourcedValue(pod, container, valueFrom, sources, context)
      : expandVariables(value ?? "", variables);
    if (text !== undefined) variables.set(name, text);
  }
  return [...variables].map(([name, value]) => ({ name, value }));
}

const reference = /\$(\$|\(([^)]*)\))/g;

/** The names that a text refers to, whether they are known or not. */
export const variablesIn = (text: string): readonly string[] =>
  [...text.matchAll(reference)].flatMap(([, inner, name]) => (inner === "$" ? [] : [name ?? ""]));

/** `$(NAME)` becomes the value of a variable that is known, `$$` a dollar; all else stays as it is. */
export const expandVariables = (text: string, known: ReadonlyMap<string, string>): string =>
  text.replace(reference, (whole, inner: string, name: string) => (inner === "$" ? "$" : (known.get(name) ?? whole)));

type ValueSource = NonNullable<NonNullable<Container["env"]>[number]["valueFrom"]>;

async function sourcedValue(
  pod: Pod,
  container: Container,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef }: ValueSource,
  sources: InputSources,
  context: PodContext,
): Promise<string | undefined> {
  const namespace = pod.metadata.namespace ?? "";
  if (fieldRef) return fieldOf(pod, fieldRef.fieldPath, context);
  if (resourceFieldRef) return amountOf(containersOf(pod), resourceFieldRef, container, context);
  if (configMapKeyRef) {
    const { name = "", key, optional } = configMapKeyRef;
    const { data } = (await sources.configMap(namespace, name)) ?? absent(`configmap "${name}" not found`, optional);
    return data?.[key] ?? keyAbsent(key, `ConfigMap ${namespace}/${name}`, optional);
  }
  if (secretKeyRef) {
    const { name = "", key, optional } = secretKeyRef;
    const { data } = (await sources.secret(namespace, name)) ?? absent(`secret "${name}" not found`, optional);
    const value = data?.[key];
    return value === undefined ? keyAbsent(key, `Secret ${namespace}/${name}`, optional) : textIn(value);
  }
  if (fileKeyRef && context.fileOf) return fileValue(fileKeyRef, context.fileOf);
  throw new InputMissing("a variable has a source that this kubelet does not know");
}

/** An empty value is as good as none. */
async function fileValue(
  { volumeName, path, key, optional }: FileKeySelector,
  fileOf: NonNullable<PodContext["fileOf"]>,
): Promise<string | undefined> {
  let value: string;
  try {
    value = envFileValue(await fileOf(volumeName, path), key);
  } catch (cause) {
    throw new InputMissing("couldn't parse env file", { cause });
  }
  if (value !== "") return value;
  if (!optional) throw new InputMissing(`environment variable key "${key}" not found in file "${path}"`);
  return undefined;
}

function absent(message: string, optional: boolean | undefined): { readonly data?: undefined } {
  if (!optional) throw new InputMissing(message);
  return {};
}

function keyAbsent(key: string, where: string, optional: boolean | undefined): undefined {
  if (!optional) throw new InputMissing(`couldn't find key ${key} in ${where}`);
  return undefined;
}

async function fromWholeObjects(
  pod: Pod,
  { envFrom = [] }: Container,
  sources: InputSources,
): Promise<[string, string][]> {
  const namespace = pod.metadata.namespace ?? "";
  const variables: [string, string][] = [];
  for (const { prefix = "", configMapRef, secretRef } of envFrom) {
    const { name = "", optional } = configMapRef ?? secretRef ?? {};
    const object = configMapRef ? await sources.configMap(namespace, name) : await sources.secret(namespace, name);
    const { data = {} } = object ?? absent(`${configMapRef ? "configmap" : "secret"} "${name}" not found`, optional);
    for (const [key, value] of Object.entries(data))
      if (isVariableName(key)) variables.push([`${prefix}${key}`, configMapRef ? value : textIn(value)]);
  }
  return variables;
}

/** Names that no shell could take are left out; the relaxed rule is the API's. */
const isVariableName = (name: string): boolean => name !== "" && !/[=\0]/.test(name);

/** Where the API is, always; where the services of the namespace are, unless the pod does not want that. */
async function serviceVariables(pod: Pod, sources: InputSources): Promise<readonly [string, string][]> {
  const own = pod.metadata.namespace ?? "";
  // A static pod does not wait for the API: it may be what serves it.
  const servicesIn = isStatic(pod) ? sources.knownServices : sources.services;
  const services = pod.spec.enableServiceLinks === false ? [] : await servicesIn(own);
  const api = (await servicesIn("default")).filter(({ metadata }) => metadata.name === "kubernetes");
  return [...services, ...api].flatMap(variablesOf);
}

function variablesOf({ metadata, spec }: Service): readonly [string, string][] {
  const { ports = [] } = spec;
  const [clusterIP] = clusterAddresses(spec);
  const [first] = ports;
  if (clusterIP === undefined || !first) return [];
  const prefix = metadata.name.toUpperCase().replaceAll("-", "_");
  const host = clusterIP.includes(":") ? `[${clusterIP}]` : clusterIP;
  const urlOf = (port: typeof first) => `${port.protocol.toLowerCase()}://${host}:${port.port}`;
  return [
    [`${prefix}_SERVICE_HOST`, clusterIP],
    [`${prefix}_SERVICE_PORT`, String(first.port)],
    ...ports.flatMap((port): [string, string][] =>
      port.name ? [[`${prefix}_SERVICE_PORT_${port.name.toUpperCase().replaceAll("-", "_")}`, String(port.port)]] : [],
    ),
    [`${prefix}_PORT`, urlOf(first)],
    ...ports.flatMap((port): [string, string][] => {
      const portPrefix = `${prefix}_PORT_${port.port}_${port.protocol}`;
      return [
        [portPrefix, urlOf(port)],
        [`${portPrefix}_PROTO`, port.protocol.toLowerCase()],
        [`${portPrefix}_PORT`, String(port.port)],
        [`${portPrefix}_ADDR`, clusterIP],
      ];
    }),
  ];
}

const containersOf = ({ spec }: Pod): readonly Container[] => [...(spec.initContainers ?? []), ...spec.containers];
/** Of what the server has taken as base64. */
const textIn = (base64: string): string => decodeUtf8(fromBase64(base64) ?? new Uint8Array());
