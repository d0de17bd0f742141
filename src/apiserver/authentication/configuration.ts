// The file that --authentication-config names: issuers of tokens, and whether strangers are served. Follows AuthenticationConfiguration of
// apiserver.config.k8s.io and its validation in k8s.io/apiserver/pkg/apis/apiserver/validation.
import { own } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import { type ConfigFields, ConfigReader, parseConfig } from "../config-reader.ts";
import { failed } from "./jwt/claims.ts";
import {
  allAlgorithms,
  type ClaimMapping,
  type ClaimRule,
  type ExpressionCompiler,
  type JwtSettings,
  type UserRule,
} from "./jwt/settings.ts";

export interface AuthenticationConfiguration {
  readonly jwt: readonly JwtSettings[];
  /** Undefined where the file does not say. */
  readonly anonymous: AnonymousSettings | undefined;
}

export interface AnonymousSettings {
  readonly enabled: boolean;
  /** Only under these paths, where there are any. */
  readonly paths: readonly string[];
}

const versions = ["v1", "v1beta1", "v1alpha1"].map((version) => `apiserver.config.k8s.io/${version}`);
const mostIssuers = 64;

export interface AuthenticationConfigOptions {
  readonly expressions: ExpressionCompiler;
  /** Issuers of our own, whose tokens are none of others. */
  readonly ownIssuers: readonly string[];
}

/** Throws an Error that names all that is wrong. */
export function parseAuthenticationConfiguration(
  text: string,
  options: AuthenticationConfigOptions,
): AuthenticationConfiguration {
  const config = new ConfigReader();
  const file = config.fields(parseConfig(text), "", ["apiVersion", "kind", "jwt", "anonymous"]);
  if (file.kind !== "AuthenticationConfiguration" || !versions.includes(String(file.apiVersion)))
    throw new Error(`expected an AuthenticationConfiguration of ${versions[0]}, got ${file.apiVersion} ${file.kind}`);
  const entries = config.list(file.jwt, "jwt");
  if (entries.length > mostIssuers)
    config.problem("jwt", `Too many: ${entries.length}: must have at most ${mostIssuers} items`);
  const reader = new JwtReader(config, options);
  const jwt = entries.slice(0, mostIssuers).map((one, i) => reader.read(one, `jwt[${i}]`));
  const anonymous = anonymousOf(config, file.anonymous);
  config.refuseProblems();
  return { jwt, anonymous };
}

function anonymousOf(config: ConfigReader, value: unknown): AnonymousSettings | undefined {
  const anonymous = config.optional(value, "anonymous", ["enabled", "conditions"]);
  if (!anonymous) return undefined;
  const enabled = config.boolean(anonymous.enabled, "anonymous.enabled") ?? false;
  const paths = config.list(anonymous.conditions, "anonymous.conditions").map((one, i) => {
    const at = `anonymous.conditions[${i}]`;
    const path = config.text(config.fields(one, at, ["path"]).path, `${at}.path`);
    if (path === "") config.required(`${at}.path`);
    return path;
  });
  if (!enabled && paths.length > 0)
    config.invalid("anonymous.conditions", paths, "enabled should be set to true when conditions are defined");
  return { enabled, paths };
}

class JwtReader {
  readonly #config: ConfigReader;
  readonly #options: AuthenticationConfigOptions;
  readonly #seen = new Set<string>();

  constructor(config: ConfigReader, options: AuthenticationConfigOptions) {
    this.#config = config;
    this.#options = options;
  }

  read(value: unknown, at: string): JwtSettings {
    const jwt = this.#config.fields(value, at, [
      "issuer",
      "claimValidationRules",
      "claimMappings",
      "userValidationRules",
    ]);
    const issuer = this.#issuer(jwt.issuer, `${at}.issuer`);
    const mappings = this.#config.optional(jwt.claimMappings, `${at}.claimMappings`, [
      "username",
      "groups",
      "uid",
      "extra",
    ]);
    const username = this.#mapping(mappings?.username, `${at}.claimMappings.username`, true);
    if (!username) this.#config.required(`${at}.claimMappings.username`, "claim or expression is required");
    const claimRules = this.#config
      .list(jwt.claimValidationRules, `${at}.claimValidationRules`)
      .map((one, i) => this.#claimRule(one, `${at}.claimValidationRules[${i}]`));
    const extra = this.#config
      .list(mappings?.extra, `${at}.claimMappings.extra`)
      .map((one, i) => this.#extra(one, `${at}.claimMappings.extra[${i}]`));
    if (username?.type === "expression") this.#checkEmail(username.text, [...claimRules, ...extra], at);
    return {
      issuer,
      algorithms: allAlgorithms,
      claimRules,
      username: username ?? { type: "claim", claim: "sub", prefix: "" },
      groups: this.#mapping(mappings?.groups, `${at}.claimMappings.groups`, true),
      uid: this.#mapping(mappings?.uid, `${at}.claimMappings.uid`, false),
      extra,
      userRules: this.#config
        .list(jwt.userValidationRules, `${at}.userValidationRules`)
        .map((one, i) => this.#userRule(one, `${at}.userValidationRules[${i}]`)),
    };
  }

  #issuer(value: unknown, at: string): JwtSettings["issuer"] {
    const known = [
      "url",
      "discoveryURL",
      "certificateAuthority",
      "audiences",
      "audienceMatchPolicy",
      "egressSelectorType",
    ];
    const issuer = this.#config.fields(value ?? {}, at, known);
    const url = this.#config.text(issuer.url, `${at}.url`);
    if (url === "") this.#config.required(`${at}.url`, "URL is required");
    else this.#checkUrl(url, `${at}.url`);
    if (this.#seen.has(url)) this.#config.problem(`${at}.url`, `Duplicate value: ${JSON.stringify(url)}`);
    if (this.#options.ownIssuers.includes(url))
      this.#config.invalid(
        `${at}.url`,
        url,
        `URL must not overlap with disallowed issuers: [${this.#options.ownIssuers.join(" ")}]`,
      );
    this.#seen.add(url);
    const discovery = this.#config.text(issuer.discoveryURL, `${at}.discoveryURL`) || undefined;
    if (discovery !== undefined) this.#checkUrl(discovery, `${at}.discoveryURL`);
    if (discovery !== undefined && discovery.replace(/\/$/, "") === url.replace(/\/$/, ""))
      this.#config.invalid(`${at}.discoveryURL`, discovery, "discoveryURL must be different from URL");
    const authority = this.#config.text(issuer.certificateAuthority, `${at}.certificateAuthority`) || undefined;
    if (authority !== undefined && !authority.includes("-----BEGIN CERTIFICATE-----"))
      this.#config.invalid(
        `${at}.certificateAuthority`,
        "<omitted>",
        "data does not contain any valid RSA or ECDSA certificates",
      );
    const audiences = this.#config.texts(issuer.audiences, `${at}.audiences`);
    if (audiences.length === 0)
      this.#config.required(`${at}.audiences`, "at least one jwt[*].issuer.audiences is required");
    for (const [i, audience] of audiences.entries())
      if (audience === "") this.#config.required(`${at}.audiences[${i}]`, "audience can't be empty");
    const policy = this.#config.text(issuer.audienceMatchPolicy, `${at}.audienceMatchPolicy`);
    if (audiences.length > 1 && policy !== "MatchAny")
      this.#config.invalid(
        `${at}.audienceMatchPolicy`,
        policy,
        "audienceMatchPolicy must be MatchAny for multiple audiences",
      );
    if (audiences.length === 1 && policy !== "" && policy !== "MatchAny")
      this.#config.invalid(
        `${at}.audienceMatchPolicy`,
        policy,
        "audienceMatchPolicy must be empty or MatchAny for single audience",
      );
    return { url, discoveryUrl: discovery, certificateAuthority: authority, audiences };
  }

  #checkUrl(text: string, at: string): void {
    const url = URL.parse(text);
    if (!url) {
      this.#config.invalid(at, text, "must be a URL");
      return;
    }
    if (url.protocol !== "https:") this.#config.invalid(at, text, "URL scheme must be https");
    if (url.username || url.password)
      this.#config.invalid(at, "<omitted>", "URL must not contain a username or password");
    if (url.search) this.#config.invalid(at, text, "URL must not contain a query");
    if (url.hash) this.#config.invalid(at, text, "URL must not contain a fragment");
  }

  #mapping(value: unknown, at: string, hasPrefix: boolean): ClaimMapping | undefined {
    const mapping = this.#config.optional(value, at, ["claim", "expression", ...(hasPrefix ? ["prefix"] : [])]);
    if (!mapping) return undefined;
    const [claim, text] = [
      this.#config.text(mapping.claim, `${at}.claim`),
      this.#config.text(mapping.expression, `${at}.expression`),
    ];
    if (claim !== "" && text !== "") this.#config.invalid(at, "", "claim and expression can't both be set");
    if (claim === "" && text === "") return undefined;
    const hasGiven = mapping.prefix !== undefined && mapping.prefix !== null;
    const prefix = this.#config.text(mapping.prefix, `${at}.prefix`);
    if (text !== "") {
      if (hasGiven) this.#config.invalid(`${at}.prefix`, prefix, "prefix can't be set when expression is set");
      const isList = at.endsWith("groups");
      return {
        type: "expression",
        text,
        evaluate: this.#compile(text, "claims", isList ? ["string", "list"] : ["string"], `${at}.expression`),
      };
    }
    if (hasPrefix && !hasGiven)
      this.#config.required(
        `${at}.prefix`,
        "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
      );
    return { type: "claim", claim, prefix };
  }

  #claimRule(value: unknown, at: string): ClaimRule & { readonly text: string } {
    const rule = this.#config.fields(value, at, ["claim", "requiredValue", "expression", "message"]);
    const text = (field: keyof typeof rule & string) => this.#config.text(rule[field], `${at}.${field}`);
    const [claim, wanted, expression, message] = [
      text("claim"),
      text("requiredValue"),
      text("expression"),
      text("message"),
    ];
    if (claim !== "" && expression !== "")
      this.#config.invalid(at, expression, "claim and expression can't both be set");
    if (claim === "" && expression === "") this.#config.required(at, "claim or expression is required");
    if (claim !== "" && message !== "")
      this.#config.invalid(`${at}.message`, message, "message can't be set when claim is set");
    if (expression === "") return { text: "", refusalOf: requiredClaim(claim, wanted) };
    if (wanted !== "")
      this.#config.invalid(`${at}.requiredValue`, wanted, "requiredValue can't be set when expression is set");
    const evaluate = this.#compile(expression, "claims", ["bool"], `${at}.expression`);
    const refusal = `oidc: error evaluating claim validation expression: ${failed(expression, message)}`;
    return { text: expression, refusalOf: (claims) => (evaluate(claims) === true ? undefined : refusal) };
  }

  #extra(value: unknown, at: string): JwtSettings["extra"][number] {
    const { key: keyField, valueExpression } = this.#config.fields(value, at, ["key", "valueExpression"]);
    const key = this.#config.text(keyField, `${at}.key`);
    const text = this.#config.text(valueExpression, `${at}.valueExpression`);
    if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?\/\S+$/.test(key))
      this.#config.invalid(`${at}.key`, key, 'must be a domain-prefixed path (such as "acme.io/foo")');
    const domain = key.split("/")[0] ?? "";
    if (/(^|\.)(k8s|kubernetes)\.io$/.test(domain))
      this.#config.invalid(
        `${at}.key`,
        key,
        "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use",
      );
    if (key !== key.toLowerCase()) this.#config.invalid(`${at}.key`, key, "key must be lowercase");
    if (text === "") this.#config.required(`${at}.valueExpression`, "valueExpression is required");
    return { key, text, evaluate: this.#compile(text, "claims", ["string", "list"], `${at}.valueExpression`) };
  }

  #userRule(value: unknown, at: string): UserRule {
    const rule: ConfigFields = this.#config.fields(value, at, ["expression", "message"]);
    const text = this.#config.text(rule.expression, `${at}.expression`);
    if (text === "") this.#config.required(`${at}.expression`, "expression is required");
    const message = this.#config.text(rule.message, `${at}.message`);
    return { text, message, evaluate: this.#compile(text, "user", ["bool"], `${at}.expression`) };
  }

  #compile(text: string, variable: "claims" | "user", results: readonly ("bool" | "string" | "list")[], at: string) {
    if (text === "") return () => undefined;
    try {
      return this.#options.expressions.compile(text, variable, results);
    } catch (error) {
      this.#config.invalid(at, text, `compilation failed: ${explain(error)}`);
      return () => undefined;
    }
  }

  /** An address that nobody has verified may be anybody's: who takes it for a name must look at that, too. */
  #checkEmail(username: string, others: readonly { readonly text: string }[], at: string): void {
    const uses = (text: string) => /claims\.email\b(?!_)/.test(text) || /claims\[["']email["']\]/.test(text);
    if (!uses(username)) return;
    if ([username, ...others.map(({ text }) => text)].some((text) => text.includes("email_verified"))) return;
    this.#config.invalid(
      `${at}.claimMappings.username.expression`,
      username,
      "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression",
    );
  }
}

/** The rule of a claim that must have a value. */
export const requiredClaim =
  (claim: string, wanted: string): ClaimRule["refusalOf"] =>
  (claims) => {
    const value = own(claims, claim);
    if (value === undefined) return `oidc: required claim ${claim} not present in ID token`;
    return value === wanted
      ? undefined
      : `oidc: required claim ${claim} value does not match. Got = ${String(value)}, want = ${wanted}`;
  };
