// The file that --admission-control-config-file names: settings of single plugins, each in place or in a file of its own.
// Upstream: staging/src/k8s.io/apiserver/pkg/admission/config.go.

import { Toleration } from "#api/core/v1/affinity.ts";
import { ScopedResourceSelectorRequirement } from "#api/core/v1/resource-quota.ts";
import { own } from "#base/collections.ts";
import { UsageError } from "#base/errors.ts";
import { parseKubeconfig, withAbsolutePaths } from "#client/kubeconfig.ts";
import { decodeValue } from "#schema/decode.ts";
import { dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { DecodeError } from "#schema/json.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import type { CredentialsOf } from "../webhook/client.ts";
import { credentialsFrom } from "../webhook/credentials.ts";
import type { ReviewWebhook } from "../webhook/review.ts";
import type { AdmissionConfiguration } from "./configuration.ts";
import type { EventLimit } from "./event-rate-limit.ts";
import type { ImagePolicySettings } from "./image-policy.ts";
import type { PodSecurityConfiguration } from "./pod-security/pod-security.ts";
import { levelProblem, modes, type Policy, parseLevel, parseVersion, versionProblem } from "./pod-security/policy.ts";
import type { LimitedResource } from "./quota/charge.ts";

/** Reads the file and those it names, by `read`. Throws UsageError that says what is wrong where. */
export function readAdmissionConfiguration(
  path: string,
  read: ReadFile,
  imageReview: ImageReviewOf = noReview,
): Partial<AdmissionConfiguration> {
  const file = record(parsed(read(path), path), path);
  ofKind(file, path, ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"], "AdmissionConfiguration");
  const found: { [K in keyof AdmissionConfiguration]?: AdmissionConfiguration[K] } = {};
  for (const [i, one] of list(file.plugins, `${path}: plugins`).entries()) {
    const where = `${path}: plugins[${i}]`;
    const { name, path: other, configuration } = record(one, where);
    const reader = Object.hasOwn(readers, String(name)) ? own(readers, String(name)) : undefined;
    if (!reader) throw new UsageError(`${where}: ${JSON.stringify(name)} is not a plugin with settings`);
    const given = typeof other === "string" && other !== "" ? parsed(read(other, path), other) : configuration;
    Object.assign(found, reader(record(given, where), where, read, imageReview));
  }
  return found;
}

type Value = Readonly<Record<string, unknown>>;

type ReadFile = (path: string, from?: string) => string;
/** Makes whom to ask about images. */
type ImageReviewOf = (settings: ImagePolicySettings) => ReviewWebhook;
type SettingsReader = (
  value: Value,
  where: string,
  read: ReadFile,
  imageReview: ImageReviewOf,
) => Partial<AdmissionConfiguration>;

const noReview: ImageReviewOf = () => async () => {
  throw new Error("this server asks nobody");
};

const readers: Readonly<Record<string, SettingsReader>> = {
  MutatingAdmissionWebhook: (value, where, read) => ({
    mutatingWebhookCredentials: webhookCredentialsOf(value, where, read),
  }),
  ValidatingAdmissionWebhook: (value, where, read) => ({
    validatingWebhookCredentials: webhookCredentialsOf(value, where, read),
  }),
  ImagePolicyWebhook(value, where, _read, imageReview) {
    const settings = imagePolicyOf(record(value.imagePolicy, `${where}.imagePolicy`), `${where}.imagePolicy`);
    return { imagePolicy: { settings, review: imageReview(settings) } };
  },
  PodSecurity: (value, where) => ({ podSecurity: podSecurityOf(value, where) }),
  ResourceQuota: (value, where) => ({ resourceQuota: { limitedResources: limitedOf(value, where) } }),
  EventRateLimit: (value, where) => ({ eventLimits: eventLimitsOf(value, where) }),
  PodNodeSelector(value, where) {
    const { clusterDefaultNodeSelector = "", ...whitelists } = texts(value.podNodeSelectorPluginConfig, where);
    return { podNodeSelector: { clusterDefault: clusterDefaultNodeSelector, whitelists } };
  },
  PodTolerationRestriction: (value, where) => ({
    podTolerations: {
      defaults: structs(Toleration, value.default, `${where}.default`) as readonly Toleration[],
      whitelist: structs(Toleration, value.whitelist, `${where}.whitelist`) as readonly Toleration[],
    },
  }),
};

function webhookCredentialsOf(value: Value, where: string, read: ReadFile): CredentialsOf | undefined {
  const versions = ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"];
  const isOld = value.apiVersion === versions[1];
  ofKind(value, where, versions, isOld ? "WebhookAdmission" : "WebhookAdmissionConfiguration");
  const { kubeConfigFile: path = "" } = value;
  if (typeof path !== "string") throw new UsageError(`${where}.kubeConfigFile: must be a string`);
  if (path === "") return undefined;
  if (!path.startsWith("/"))
    throw new UsageError(
      `${where}.kubeConfigFile: Invalid value: ${JSON.stringify(path)}: must be an absolute file path`,
    );
  const config = withAbsolutePaths(parseKubeconfig(read(path), path), path.slice(0, path.lastIndexOf("/")));
  return credentialsFrom(config, (file) => read(file));
}

function podSecurityOf(value: Value, where: string): PodSecurityConfiguration {
  const versions = ["v1", "v1beta1", "v1alpha1"].map((version) => `pod-security.admission.config.k8s.io/${version}`);
  ofKind(value, where, versions, "PodSecurityConfiguration");
  const defaults = texts(value.defaults, `${where}.defaults`);
  const policy = Object.fromEntries(
    modes.map((mode) => {
      const [levelText, versionText] = [defaults[mode] || "privileged", defaults[`${mode}-version`] || "latest"];
      const [level, minor] = [parseLevel(levelText), parseVersion(versionText)];
      if (level === undefined)
        throw new UsageError(
          `${where}: defaults.${mode}: Invalid value: ${JSON.stringify(levelText)}: ${levelProblem}`,
        );
      if (minor === undefined)
        throw new UsageError(
          `${where}: defaults.${mode}-version: Invalid value: ${JSON.stringify(versionText)}: ${versionProblem}`,
        );
      return [mode, { level, minor }];
    }),
  ) as unknown as Policy;
  const given = record(value.exemptions ?? {}, `${where}.exemptions`);
  const exempt = (field: string, problems: (name: string) => readonly string[]): readonly string[] => {
    const names = list(given[field], `${where}.exemptions.${field}`).map(String);
    for (const [i, name] of names.entries()) {
      const at = `${where}: exemptions.${field}[${i}]`;
      const [problem] = problems(name);
      if (problem !== undefined) throw new UsageError(`${at}: Invalid value: ${JSON.stringify(name)}: ${problem}`);
      if (names.indexOf(name) < i) throw new UsageError(`${at}: Duplicate value: ${JSON.stringify(name)}`);
    }
    return names;
  };
  return {
    defaults: policy,
    exemptions: {
      usernames: exempt("usernames", (name) => (name === "" ? ["username must not be empty"] : [])),
      namespaces: exempt("namespaces", dns1123Label),
      runtimeClasses: exempt("runtimeClasses", dns1123Subdomain),
    },
  };
}

const limitedOf = (value: Value, where: string): readonly LimitedResource[] =>
  list(value.limitedResources, `${where}.limitedResources`).map((one, i): LimitedResource => {
    const at = `${where}.limitedResources[${i}]`;
    const { apiGroup = "", resource, matchContains, matchScopes } = record(one, at);
    if (typeof resource !== "string" || resource === "") throw new UsageError(`${at}.resource: Required value`);
    return {
      apiGroup: String(apiGroup),
      resource,
      matchContains: list(matchContains, `${at}.matchContains`).map(String),
      matchScopes: structs(ScopedResourceSelectorRequirement, matchScopes, `${at}.matchScopes`) as never,
    };
  });

/** Times as upstream bounds them: 0 is the usual one, a negative one is not to believe answers at all. */
function imagePolicyOf(value: Value, where: string): ImagePolicySettings {
  const { kubeConfigFile, defaultAllow = false } = value;
  if (typeof kubeConfigFile !== "string" || kubeConfigFile === "")
    throw new UsageError(`${where}.kubeConfigFile: Required value`);
  if (typeof defaultAllow !== "boolean") throw new UsageError(`${where}.defaultAllow: must be true or false`);
  const time = (field: string, unitMs: number, usual: number, least: number, most: number): number => {
    const given = value[field] ?? 0;
    if (typeof given !== "number") throw new UsageError(`${where}.${field}: must be a number`);
    if (given === 0) return usual;
    if (given < 0 && field !== "retryBackoff") return 0;
    const ms = given * unitMs;
    if (ms < least || ms > most)
      throw new UsageError(
        `valid value is between ${least / 1000}s and ${most / 1000}s, got ${ms / 1000}s (${where}.${field})`,
      );
    return ms;
  };
  return {
    kubeconfig: kubeConfigFile,
    allowMs: time("allowTTL", 1000, 300_000, 1000, 1_800_000),
    denyMs: time("denyTTL", 1000, 60_000, 1000, 1_800_000),
    retryMs: time("retryBackoff", 1, 500, 1, 300_000),
    defaultAllow,
  };
}

const limitTypes = ["Server", "Namespace", "User", "SourceAndObject"] as const;

const eventLimitsOf = (value: Value, where: string): readonly EventLimit[] =>
  list(value.limits, `${where}.limits`).map((one, i): EventLimit => {
    const at = `${where}.limits[${i}]`;
    const limit = record(one, at);
    const type = limitTypes.find((known) => known === limit.type);
    if (!type) throw new UsageError(`${at}.type: ${JSON.stringify(limit.type)} is none of ${limitTypes.join(", ")}`);
    const number = (field: string, least: number): number => {
      const given = limit[field] ?? 0;
      if (typeof given !== "number" || !Number.isInteger(given) || given < least)
        throw new UsageError(
          `${at}.${field}: must be a whole number of at least ${least}, not ${JSON.stringify(given)}`,
        );
      return given;
    };
    return { type, qps: number("qps", 1), burst: number("burst", 1), cacheSize: number("cacheSize", 0) };
  });

function parsed(text: string, path: string): unknown {
  try {
    return parseYaml(text).value;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new UsageError(`${path}: ${error.message}`);
  }
}

function record(value: unknown, where: string): Value {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${where}: must be an object`);
  return value as Value;
}

function list(value: unknown, where: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new UsageError(`${where}: must be a list`);
  return value;
}

const texts = (value: unknown, where: string): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record(value ?? {}, where)).map(([key, text]) => [key, String(text)]));

function structs(struct: AnyStruct, value: unknown, where: string): readonly unknown[] {
  try {
    return list(value, where).map((one) => decodeValue(struct, one).object);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new UsageError(`${where}: ${error.message}`);
  }
}

function ofKind({ apiVersion, kind }: Value, where: string, versions: readonly string[], expected: string): void {
  if (kind !== expected || !versions.includes(String(apiVersion)))
    throw new UsageError(`${where}: expected a ${expected} of ${versions[0]}, got ${apiVersion} ${kind}`);
}
