// The file that --encryption-provider-config names: which resources are encrypted in the store, and with what. Follows
// EncryptionConfiguration of apiserver.config.k8s.io/v1 and its validation in
// staging/src/k8s.io/apiserver/pkg/apis/apiserver/validation/validation_encryption.go.
import { fromBase64 } from "#base/base64.ts";
import { withoutQuotes } from "#base/redact.ts";
import { aggregate } from "#store/encryption/value-transformer.ts";
import { type ConfigFields, ConfigReader, parseConfig } from "../config-reader.ts";
import { allOfGroup, allResources, checkResourceNames, parseResourceName, resourceName } from "./resource-names.ts";

export interface NamedSecret {
  readonly name: string;
  readonly secret: Uint8Array;
}

export type CipherType = "aesgcm" | "aescbc" | "secretbox";

export type EncryptionProvider =
  | { readonly type: CipherType; readonly keys: readonly NamedSecret[] }
  | { readonly type: "kms"; readonly name: string; readonly endpoint: string; readonly timeoutMs: number }
  | { readonly type: "identity" };

/** By name of the resource, as `secrets` or `*.apps`: the first provider writes, all read. */
export type EncryptionRules = ReadonlyMap<string, readonly EncryptionProvider[]>;

/** Throws an Error that names all that is wrong, and no secret. */
export function parseEncryptionConfiguration(text: string): EncryptionRules {
  if (text === "") throw new Error("error while parsing file: error while loading file: the file is empty");
  const reader = new ConfigurationReader();
  let value: unknown;
  try {
    value = parseConfig(text);
  } catch (error) {
    throw new Error(`error while parsing file: ${withoutQuotes(error instanceof Error ? error.message : `${error}`)}`);
  }
  let lists: readonly ResourceList[];
  try {
    lists = reader.read(value);
  } catch (error) {
    throw new Error(`error while parsing file: ${error instanceof Error ? error.message : error}`);
  }
  try {
    return rulesOf(lists);
  } catch (error) {
    throw new Error(`error while building transformers: ${error instanceof Error ? error.message : error}`);
  }
}

interface ResourceList {
  readonly resources: readonly string[];
  readonly providers: readonly EncryptionProvider[];
}

/** A rule that an earlier one makes ineffective is refused. */
function rulesOf(lists: readonly ResourceList[]): EncryptionRules {
  const rules = new Map<string, readonly EncryptionProvider[]>();
  for (const { resources, providers } of lists)
    for (const text of resources) {
      const resource = parseResourceName(text);
      const name = resourceName(resource);
      for (const mask of [allOfGroup(resource.group), allResources])
        if (rules.has(mask))
          throw new Error(`resource ${JSON.stringify(name)} is masked by earlier rule ${JSON.stringify(mask)}`);
      rules.set(name, [...(rules.get(name) ?? []), ...providers]);
    }
  return rules;
}

const kmsV1 =
  "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead. KMSv1 is not supported by this server: set apiVersion to v2.";
const keyLengths: Readonly<Record<CipherType, readonly number[]>> = {
  aesgcm: [16, 24, 32],
  aescbc: [16, 24, 32],
  secretbox: [32],
};
const providerFields = ["aesgcm", "aescbc", "secretbox", "identity", "kms"] as const;

class ConfigurationReader {
  // Where a colon is missing, a secret is a part of the field's name.
  readonly #config = new ConfigReader({ nameOf: (field) => (/^[A-Za-z]{1,20}$/.test(field) ? field : "REDACTED") });
  readonly #problems: string[] = [];
  readonly #kmsNames = new Set<string>();
  #asksForV1 = false;

  read(value: unknown): readonly ResourceList[] {
    const config = this.#config;
    const file = config.fields(value, "", ["apiVersion", "kind", "resources"]);
    checkType(file);
    const entries = config.list(file.resources, "resources");
    if (entries.length === 0) this.#required("resources", "at least one resources is required");
    const lists = entries.map((entry, i) => this.#list(entry, `resources[${i}]`));
    config.refuseProblems();
    const all = aggregate(this.#problems);
    if (all !== undefined) throw new Error(all);
    if (this.#asksForV1) throw new Error(kmsV1);
    return lists;
  }

  #list(value: unknown, at: string): ResourceList {
    const config = this.#config;
    const entry = config.fields(value, at, ["resources", "providers"]);
    const resources = config.texts(entry.resources, `${at}.resources`);
    if (resources.length === 0) this.#required(`${at}.resources`, `at least one ${at}.resources is required`);
    checkResourceNames(resources, `${at}.resources`, (...problem) => this.#invalid(...problem));
    const providers = config.list(entry.providers, `${at}.providers`);
    if (providers.length === 0) this.#required(`${at}.providers`, `at least one ${at}.providers is required`);
    return { resources, providers: providers.map((one, i) => this.#provider(one, `${at}.providers[${i}]`)) };
  }

  #provider(value: unknown, at: string): EncryptionProvider {
    const fields = this.#config.fields(value, at, providerFields);
    const given = providerFields.filter((name) => fields[name] !== undefined && fields[name] !== null);
    const [type] = given;
    if (type === undefined)
      this.#invalid(
        at,
        {},
        "provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity",
      );
    else if (given.length > 1)
      this.#invalid(
        at,
        given,
        "more than one provider specified in a single element, should split into different list elements",
      );
    // The order in which upstream looks at what it has complained about already.
    if (given.includes("kms")) return this.#kms(this.#config.fields(fields.kms, `${at}.kms`, kmsFields), `${at}.kms`);
    for (const cipher of ["aesgcm", "aescbc", "secretbox"] as const)
      if (given.includes(cipher)) {
        const { keys } = this.#config.fields(fields[cipher], `${at}.${cipher}`, ["keys"]);
        return { type: cipher, keys: this.#keys(keys, `${at}.${cipher}.keys`, keyLengths[cipher]) };
      }
    if (type === "identity") this.#config.fields(fields.identity, `${at}.identity`, []);
    return { type: "identity" };
  }

  #keys(value: unknown, at: string, lengths: readonly number[]): readonly NamedSecret[] {
    const keys = this.#config.list(value, at);
    if (keys.length === 0) this.#required(at, "at least one keys is required");
    return keys.map((one, i) => this.#key(one, `${at}[${i}]`, lengths));
  }

  #key(value: unknown, at: string, lengths: readonly number[]): NamedSecret {
    const fields = this.#config.fields(value, at, ["name", "secret"]);
    const name = this.#config.text(fields.name, `${at}.name`);
    if (name === "") this.#required(`${at}.name`, "name is a mandatory field for a key");
    const text = this.#config.text(fields.secret, `${at}.secret`);
    if (text === "") {
      this.#required(`${at}.secret`, "secret is a mandatory field for a key");
      return { name, secret: new Uint8Array() };
    }
    const secret = fromBase64(text);
    const redacted = (why: string) => this.#invalid(`${at}.secret`, "REDACTED", why);
    if (!secret) redacted("secrets must be base64 encoded");
    else if (!lengths.includes(secret.length))
      redacted(`secret is not of the expected length, got ${secret.length}, expected one of [${lengths.join(" ")}]`);
    return { name, secret: secret ?? new Uint8Array() };
  }

  #kms(fields: ConfigFields, at: string): EncryptionProvider {
    const config = this.#config;
    const version = config.text(fields.apiVersion, `${at}.apiVersion`) || "v1";
    const name = config.text(fields.name, `${at}.name`);
    if (name === "") this.#required(`${at}.name`, "name is a mandatory field for a provider");
    if (version !== "v1" && name.includes(":"))
      this.#invalid(`${at}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`);
    if (this.#kmsNames.has(name))
      this.#invalid(`${at}.name`, name, `duplicate KMS provider name ${name}, names must be unique`);
    this.#kmsNames.add(name);
    const timeoutMs = config.duration(fields.timeout, `${at}.timeout`) ?? 3000;
    if (timeoutMs <= 0) this.#invalid(`${at}.timeout`, fields.timeout, "timeout should be a positive value");
    const endpoint = this.#endpoint(fields.endpoint, `${at}.endpoint`);
    const cacheSize = config.integer(fields.cachesize, `${at}.cachesize`);
    if (version !== "v1" && cacheSize !== undefined)
      this.#invalid(`${at}.cachesize`, cacheSize, "cachesize is not supported in v2");
    if (version === "v1" && cacheSize === 0)
      this.#invalid(`${at}.cachesize`, 0, "cachesize should be a positive value, or negative to disable");
    if (version === "v1") this.#asksForV1 = true;
    else if (version !== "v2")
      this.#invalid(
        `${at}.apiVersion`,
        version,
        "unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported",
      );
    return { type: "kms", name, endpoint, timeoutMs };
  }

  #endpoint(value: unknown, at: string): string {
    const endpoint = this.#config.text(value, at);
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase() ?? "";
    if (endpoint === "") this.#invalid(at, "", "endpoint is a mandatory field for a kms");
    else if (hasControlCharacter(endpoint))
      this.#invalid(
        at,
        endpoint,
        `invalid endpoint for kms provider, error: parse ${JSON.stringify(endpoint)}: net/url: invalid control character in URL`,
      );
    else if (scheme !== "unix")
      this.#invalid(
        at,
        endpoint,
        `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`,
      );
    return endpoint;
  }

  #required(at: string, why: string): void {
    this.#problems.push(`${at}: Required value: ${why}`);
  }

  #invalid(at: string, value: unknown, why: string): void {
    this.#problems.push(`${at}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  }
}

const kmsFields = ["apiVersion", "name", "cachesize", "endpoint", "timeout"];

/** The second is what the kind was called before it was stable. */
const types = ["apiserver.config.k8s.io/v1 EncryptionConfiguration", "v1 EncryptionConfig"];

function checkType({ apiVersion, kind }: ConfigFields): void {
  if (kind === undefined || kind === "") throw new Error("Object 'Kind' is missing");
  if (!types.includes(`${apiVersion} ${kind}`))
    throw new Error(
      `no kind ${named(kind, /^[A-Za-z]{1,40}$/)} is registered for version ${named(apiVersion, /^[a-z0-9.]{1,30}(\/[a-z0-9]{1,10})?$/)}; expected an ${types[0]}`,
    );
}

/** What is no name of the kind may hold anything, as indentation decides what belongs to a field. */
const named = (value: unknown, form: RegExp): string =>
  value === undefined || (typeof value === "string" && (value === "" || form.test(value)))
    ? JSON.stringify(value ?? "")
    : '"REDACTED"';

const hasControlCharacter = (text: string): boolean =>
  [...text].some((character) => character < " " || character === "\x7f");
