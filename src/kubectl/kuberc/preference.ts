// The file of preferences: aliases of commands, and other defaults of flags (upstream: kubectl/pkg/kuberc and pkg/config).
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import type { Io } from "../io.ts";

export interface FlagDefault {
  readonly name: string;
  readonly default: string;
}

export interface CommandDefaults {
  readonly command: string;
  readonly options: readonly FlagDefault[];
}

export interface CommandAlias extends CommandDefaults {
  readonly name: string;
  readonly prependArgs: readonly string[];
  readonly appendArgs: readonly string[];
}

export interface PluginPolicy {
  /** Empty stands for AllowAll. */
  readonly type: string;
  readonly allowed: readonly string[];
}

export interface Preference {
  readonly aliases: readonly CommandAlias[];
  readonly defaults: readonly CommandDefaults[];
  readonly pluginPolicy: PluginPolicy;
}

export interface PreferencePlace {
  readonly path: string;
  /** Whether the person named it: it must then be there and be right. */
  readonly isExplicit: boolean;
}

/** Undefined if preferences are switched off. Throws KubectlError. */
export function preferencePlace(io: Io, flag: string): PreferencePlace | undefined {
  const { KUBERC, HOME } = io.env;
  if (KUBERC === "off") {
    if (flag !== "")
      throw new KubectlError("disabling kuberc via KUBERC=off and passing kuberc flag are mutually exclusive");
    return undefined;
  }
  const named = flag || KUBERC || "";
  if (named !== "") return { path: resolve(io.cwd, named), isExplicit: true };
  return { path: join(HOME ?? homedir(), ".kube", "kuberc"), isExplicit: false };
}

/** Undefined if there are none. Throws KubectlError where a file was named; of the usual one what is wrong is only told. */
export async function loadPreference(io: Io, flag: string): Promise<Preference | undefined> {
  const place = preferencePlace(io, flag);
  if (!place) return undefined;
  const { path, isExplicit } = place;
  try {
    return await parsePreference(readFileSync(path, "utf8"), path);
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    if (isMissing && !isExplicit) return undefined;
    const why = isMissing ? `open ${path}: no such file or directory` : (cause as Error).message;
    if (isExplicit) throw new KubectlError(`kuberc error kuberc: ${why}`, { cause });
    io.stderr.write(`kuberc: no preferences loaded from ${path}: ${why}\n`);
    return undefined;
  }
}

const group = "kubectl.config.k8s.io";

/** The first document of a version that is known; undefined for an empty file. Throws KubectlError. */
async function parsePreference(text: string, path: string): Promise<Preference | undefined> {
  // Most people have no such file, and reading YAML takes a while to load.
  const { manifestDocuments } = await import("../resources/manifest-files.ts");
  const documents = manifestDocuments(text, path).filter((document) => document !== null && document !== undefined);
  for (const document of documents) {
    if (!isObject(document) || document.kind !== "Preference") continue;
    if (document.apiVersion === `${group}/v1beta1`) return preferenceIn(document, "defaults", "options");
    if (document.apiVersion === `${group}/v1alpha1`) return preferenceIn(document, "overrides", "flags");
  }
  if (documents.length > 0) throw new KubectlError(`no valid preferences found in ${path}, use --v=5 to see details`);
  return undefined;
}

const entries = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);

function preferenceIn(document: Readonly<Record<string, unknown>>, defaults: string, options: string): Preference {
  const commandIn = (entry: Readonly<Record<string, unknown>>): CommandDefaults => ({
    command: String(entry.command ?? ""),
    options: entries(entry[options]).map((one) => ({
      name: String(one.name ?? ""),
      default: String(one.default ?? ""),
    })),
  });
  const preference: Preference = {
    aliases: entries(document.aliases).map((entry) => ({
      ...commandIn(entry),
      name: String(entry.name ?? ""),
      prependArgs: texts(entry.prependArgs),
      appendArgs: texts(entry.appendArgs),
    })),
    defaults: entries(document[defaults]).map(commandIn),
    pluginPolicy: {
      type: String(document.credentialPluginPolicy ?? ""),
      allowed: entries(document.credentialPluginAllowlist).map(({ command, name }) => String(command ?? name ?? "")),
    },
  };
  validate(preference);
  return preference;
}

function validate({ aliases, defaults, pluginPolicy }: Preference): void {
  const seen = new Set<string>();
  for (const { name } of aliases) {
    if (!/^[a-zA-Z]+$/.test(name))
      throw new KubectlError("invalid alias name, can only include alphabetical characters");
    if (seen.has(name)) throw new KubectlError(`duplicate alias name ${name}`);
    seen.add(name);
  }
  for (const { options } of [...aliases, ...defaults])
    for (const { name } of options)
      if (name.startsWith("-")) throw new KubectlError(`flag name ${name} should be in long form without dashes`);
  const { type, allowed } = pluginPolicy;
  if (!["", "AllowAll", "DenyAll", "Allowlist"].includes(type))
    throw new KubectlError(`invalid plugin policy: ${JSON.stringify(type)}`);
  if (type !== "Allowlist" && allowed.length > 0)
    throw new KubectlError(`plugin policy is ${JSON.stringify(type)} but allowlist is non-nil`);
  if (type === "Allowlist" && allowed.length === 0)
    throw new KubectlError('plugin policy is "Allowlist" but allowlist is unspecified');
}
