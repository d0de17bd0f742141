// The file that --authorization-config names: who decides, in which order. Follows AuthorizationConfiguration of apiserver.config.k8s.io and its
// validation in k8s.io/apiserver/pkg/apis/apiserver/validation.
import { explain } from "#base/errors.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { type ConfigFields, ConfigReader, parseConfig } from "../config-reader.ts";
import type { MatchCondition } from "./webhook.ts";

export const authorizerTypes = ["Node", "RBAC", "ABAC", "Webhook", "AlwaysAllow", "AlwaysDeny"] as const;
export type AuthorizerType = (typeof authorizerTypes)[number];

export interface WebhookSettings {
  readonly timeoutMs: number;
  readonly allowedMs: number;
  readonly deniedMs: number;
  readonly version: "v1" | "v1beta1";
  readonly onFailure: "deny" | "none";
  readonly kubeconfig: string;
  readonly matchConditions: readonly MatchCondition[];
}

export interface AuthorizerSettings {
  readonly type: AuthorizerType;
  readonly name: string;
  readonly webhook?: WebhookSettings;
}

export interface AuthorizationConfigOptions {
  /** Compiles an expression about a review, in CEL. Throws an Error that says what is wrong with it. */
  readonly compile: (expression: string) => MatchCondition;
}

const versions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);
const longestTimeoutMs = 30_000;
const mostConditions = 64;

/** Throws an Error that names all that is wrong. */
export function parseAuthorizationConfiguration(
  text: string,
  options: AuthorizationConfigOptions,
): readonly AuthorizerSettings[] {
  const config = new ConfigReader();
  const file = config.fields(parseConfig(text), "", ["apiVersion", "kind", "authorizers"]);
  if (file.kind !== "AuthorizationConfiguration" || !versions.includes(String(file.apiVersion)))
    throw new Error(`expected an AuthorizationConfiguration of ${versions[0]}, got ${file.apiVersion} ${file.kind}`);
  const entries = config.list(file.authorizers, "authorizers");
  if (entries.length === 0) config.required("authorizers", "at least one authorization mode must be defined");
  const reader = new AuthorizerReader(config, options);
  const authorizers = entries.map((one, i) => reader.read(one, `authorizers[${i}]`));
  config.refuseProblems();
  return authorizers;
}

class AuthorizerReader {
  readonly #config: ConfigReader;
  readonly #options: AuthorizationConfigOptions;
  readonly #types = new Set<string>();
  readonly #names = new Set<string>();

  constructor(config: ConfigReader, options: AuthorizationConfigOptions) {
    this.#config = config;
    this.#options = options;
  }

  read(value: unknown, at: string): AuthorizerSettings {
    const authorizer = this.#config.fields(value, at, ["type", "name", "webhook"]);
    const type = this.#config.oneOf(authorizerTypes, authorizer.type, `${at}.type`);
    if (type !== "Webhook" && this.#types.has(type))
      this.#config.problem(`${at}.type`, `Duplicate value: ${JSON.stringify(type)}`);
    this.#types.add(type);
    const name = this.#config.text(authorizer.name, `${at}.name`);
    if (name === "") this.#config.required(`${at}.name`);
    else if (this.#names.has(name)) this.#config.problem(`${at}.name`, `Duplicate value: ${JSON.stringify(name)}`);
    else
      for (const why of dns1123Subdomain(name))
        this.#config.invalid(`${at}.name`, name, `authorizer name is invalid: ${why}`);
    this.#names.add(name);
    const webhook = this.#config.optional(authorizer.webhook, `${at}.webhook`, webhookFields);
    if (type !== "Webhook") {
      if (webhook) this.#config.invalid(`${at}.webhook`, "non-null", "may only be specified when type=Webhook");
      return { type, name };
    }
    if (webhook) return { type, name, webhook: this.#webhook(webhook, `${at}.webhook`) };
    this.#config.required(`${at}.webhook`, "required when type=Webhook");
    return { type, name };
  }

  #webhook(webhook: ConfigFields, at: string): WebhookSettings {
    const timeoutMs = this.#positive(webhook.timeout, `${at}.timeout`, undefined);
    if (timeoutMs > longestTimeoutMs) this.#config.invalid(`${at}.timeout`, webhook.timeout, "must be <= 30s");
    const isCached = (field: "cacheAuthorizedRequests" | "cacheUnauthorizedRequests") =>
      this.#config.boolean(webhook[field], `${at}.${field}`) ?? true;
    const version = this.#config.oneOf(
      ["v1", "v1beta1"],
      webhook.subjectAccessReviewVersion,
      `${at}.subjectAccessReviewVersion`,
    );
    const policy = this.#config.oneOf(["Deny", "NoOpinion"], webhook.failurePolicy, `${at}.failurePolicy`);
    const matchConditions = this.#config
      .list(webhook.matchConditions, `${at}.matchConditions`)
      .map((one, i) => this.#condition(one, `${at}.matchConditions[${i}]`));
    if (matchConditions.length > mostConditions)
      this.#config.problem(
        `${at}.matchConditions`,
        `Too many: ${matchConditions.length}: must have at most ${mostConditions} items`,
      );
    const conditionVersion = this.#config.text(
      webhook.matchConditionSubjectAccessReviewVersion,
      `${at}.matchConditionSubjectAccessReviewVersion`,
    );
    if (matchConditions.length > 0 && conditionVersion !== "v1")
      this.#config.required(
        `${at}.matchConditionSubjectAccessReviewVersion`,
        "required if match conditions are specified",
      );
    return {
      timeoutMs,
      allowedMs: isCached("cacheAuthorizedRequests")
        ? this.#positive(webhook.authorizedTTL, `${at}.authorizedTTL`, 300_000)
        : 0,
      deniedMs: isCached("cacheUnauthorizedRequests")
        ? this.#positive(webhook.unauthorizedTTL, `${at}.unauthorizedTTL`, 30_000)
        : 0,
      version,
      onFailure: policy === "Deny" ? "deny" : "none",
      kubeconfig: this.#connection(webhook.connectionInfo, `${at}.connectionInfo`),
      matchConditions,
    };
  }

  #positive(value: unknown, at: string, usual: number | undefined): number {
    const ms = this.#config.duration(value, at) ?? usual;
    if (ms === undefined) {
      this.#config.required(at);
      return 0;
    }
    if (ms <= 0) this.#config.invalid(at, value, "must be > 0s");
    return ms;
  }

  #connection(value: unknown, at: string): string {
    const info = this.#config.fields(value ?? {}, at, ["type", "kubeConfigFile"]);
    const type = this.#config.oneOf(["KubeConfigFile", "InClusterConfig"], info.type, `${at}.type`);
    const file = this.#config.text(info.kubeConfigFile, `${at}.kubeConfigFile`);
    if (type === "InClusterConfig")
      this.#config.invalid(`${at}.type`, type, "this server does not run in a pod; use KubeConfigFile");
    else if (file === "") this.#config.required(`${at}.kubeConfigFile`);
    else if (!file.startsWith("/")) this.#config.invalid(`${at}.kubeConfigFile`, file, "must be an absolute path");
    return file;
  }

  #condition(value: unknown, at: string): MatchCondition {
    const expression = this.#config.text(this.#config.fields(value, at, ["expression"]).expression, `${at}.expression`);
    if (expression === "") {
      this.#config.required(`${at}.expression`);
      return () => false;
    }
    try {
      return this.#options.compile(expression);
    } catch (error) {
      this.#config.invalid(`${at}.expression`, expression, `compilation failed: ${explain(error)}`);
      return () => false;
    }
  }
}

const webhookFields = [
  ...["timeout", "authorizedTTL", "cacheAuthorizedRequests", "unauthorizedTTL", "cacheUnauthorizedRequests"],
  ...["subjectAccessReviewVersion", "matchConditionSubjectAccessReviewVersion", "failurePolicy", "connectionInfo"],
  "matchConditions",
];
