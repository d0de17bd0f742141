// Kubeconfig files: addresses of clusters, and users. Files are merged as kubectl merges them: of two entries of one name the first wins.
// Changing a file keeps all that it contains, including fields that are unknown here.
import { UsageError } from "#base/errors.ts";
import { withoutQuotes } from "#base/redact.ts";
import { DecodeError } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { printYaml } from "#wire/yaml/write.ts";

type Entry = Readonly<Record<string, unknown>>;

export interface KubeCluster extends Entry {
  readonly server?: string;
  readonly "certificate-authority"?: string;
  readonly "certificate-authority-data"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  readonly "tls-server-name"?: string;
}
export interface KubeUser extends Entry {
  readonly "client-certificate"?: string;
  readonly "client-certificate-data"?: string;
  readonly "client-key"?: string;
  readonly "client-key-data"?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
}
export interface KubeContext extends Entry {
  readonly cluster?: string;
  readonly user?: string;
  readonly namespace?: string;
}

interface NamedEntry extends Entry {
  readonly name: string;
}
export interface Kubeconfig extends Entry {
  readonly clusters: readonly (NamedEntry & { readonly cluster: KubeCluster })[];
  readonly users: readonly (NamedEntry & { readonly user: KubeUser })[];
  readonly contexts: readonly (NamedEntry & { readonly context: KubeContext })[];
  readonly "current-context": string;
}

/** A context with all it refers to. */
export interface ResolvedContext {
  readonly cluster: KubeCluster & { readonly server: string };
  readonly user: KubeUser;
  readonly namespace: string;
}

export const emptyKubeconfig: Kubeconfig = {
  apiVersion: "v1",
  kind: "Config",
  clusters: [],
  users: [],
  contexts: [],
  "current-context": "",
};

const parts = [
  {
    list: "clusters",
    one: "cluster",
    texts: ["server", "certificate-authority", "certificate-authority-data", "tls-server-name", "proxy-url"],
    flags: ["insecure-skip-tls-verify"],
    files: ["certificate-authority"],
  },
  {
    list: "users",
    one: "user",
    texts: [
      "client-certificate",
      "client-certificate-data",
      "client-key",
      "client-key-data",
      "token",
      "tokenFile",
      "username",
      "password",
    ],
    flags: [],
    files: ["client-certificate", "client-key", "tokenFile"],
  },
  { list: "contexts", one: "context", texts: ["cluster", "user", "namespace"], flags: [], files: [] },
] as const;

/** Reads the text of the file at `path`, which errors name. Throws UsageError. */
export function parseKubeconfig(text: string, path: string): Kubeconfig {
  const wrong = (field: string, why: string) => new UsageError(`kubeconfig ${path}: ${field}: ${why}`);
  let value: unknown;
  try {
    ({ value } = parseYaml(text));
  } catch (cause) {
    if (cause instanceof DecodeError) throw new UsageError(`kubeconfig ${path}: ${withoutQuotes(cause.message)}`);
    throw cause;
  }
  if (value === null) return emptyKubeconfig;
  if (!isEntry(value)) throw new UsageError(`kubeconfig ${path}: expected a mapping, got ${typeName(value)}`);
  const { kind = "Config", apiVersion = "v1" } = value;
  if (kind !== "Config" || apiVersion !== "v1")
    throw wrong("kind", `expected Config of v1, got ${shown(kind)} of ${shown(apiVersion)}`);
  const current = value["current-context"] ?? "";
  if (typeof current !== "string") throw wrong("current-context", `expected a string, got ${typeName(current)}`);
  const lists = parts.map(({ list, one, texts, flags }) => {
    const entries = value[list] ?? [];
    if (!Array.isArray(entries)) throw wrong(list, `expected a list, got ${typeName(entries)}`);
    const checked = entries.map((entry: unknown, i) => {
      const at = `${list}[${i}]`;
      if (!isEntry(entry)) throw wrong(at, `expected a mapping, got ${typeName(entry)}`);
      if (typeof entry.name !== "string" || entry.name === "") throw wrong(`${at}.name`, "is missing");
      const inner = entry[one] ?? {};
      if (!isEntry(inner)) throw wrong(`${at}.${one}`, `expected a mapping, got ${typeName(inner)}`);
      for (const field of texts) check(inner, field, "string", `${at}.${one}.${field}`);
      for (const field of flags) check(inner, field, "boolean", `${at}.${one}.${field}`);
      return { ...entry, name: entry.name, [one]: withoutNulls(inner) };
    });
    return [list, checked] as const;
  });
  function check(inner: Entry, field: string, type: string, at: string) {
    const present = inner[field] ?? undefined;
    if (present !== undefined && typeof present !== type)
      throw wrong(at, `expected a ${type}, got ${typeName(present)}`);
  }
  return { ...emptyKubeconfig, ...value, ...Object.fromEntries(lists), "current-context": current } as Kubeconfig;
}

const shown = (value: unknown): string => (typeof value === "string" ? value : typeName(value));

export const printKubeconfig = (config: Kubeconfig): string => printYaml(config);

/** Paths in a file are relative to its folder. */
export function withAbsolutePaths(config: Kubeconfig, folder: string): Kubeconfig {
  const lists = parts.map(({ list, one, files }) => [
    list,
    config[list].map((entry: Entry) => {
      const inner = { ...(entry[one] as Record<string, unknown>) };
      for (const field of files) {
        const file = inner[field];
        if (typeof file === "string" && file !== "" && !isAbsolute(file)) inner[field] = `${folder}/${file}`;
      }
      return { ...entry, [one]: inner };
    }),
  ]);
  return { ...config, ...Object.fromEntries(lists) };
}

/** Of two entries of one name the first counts, as does the first current context. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const of = <T extends NamedEntry>(list: (config: Kubeconfig) => readonly T[]): readonly T[] =>
    firstOfEach(configs.flatMap((config) => list(config)));
  return {
    ...Object.assign({}, emptyKubeconfig, ...configs.toReversed()),
    clusters: of(({ clusters }) => clusters),
    users: of(({ users }) => users),
    contexts: of(({ contexts }) => contexts),
    "current-context": configs.map((config) => config["current-context"]).find((name) => name !== "") ?? "",
  };
}

function firstOfEach<T extends NamedEntry>(entries: readonly T[]): readonly T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

/** The context of a name, or the current one. Throws UsageError that says what is missing; `source` names the files. */
export function resolveContext(config: Kubeconfig, source: string, asked?: string): ResolvedContext {
  const wrong = (why: string) => new UsageError(`kubeconfig ${source}: ${why}`);
  const name = asked ?? config["current-context"];
  if (name === "") throw wrong("current-context is not set, and no context was asked for");
  const context = config.contexts.find((one) => one.name === name)?.context;
  if (!context) throw wrong(`context ${JSON.stringify(name)} does not exist`);
  const cluster = config.clusters.find((one) => one.name === context.cluster)?.cluster;
  if (!cluster)
    throw wrong(`cluster ${JSON.stringify(context.cluster ?? "")} of context ${JSON.stringify(name)} does not exist`);
  const { server } = cluster;
  if (!server) throw wrong(`cluster ${JSON.stringify(context.cluster)} has no server`);
  const user = context.user ? config.users.find((one) => one.name === context.user)?.user : {};
  if (!user) throw wrong(`user ${JSON.stringify(context.user)} of context ${JSON.stringify(name)} does not exist`);
  return { cluster: { ...cluster, server }, user, namespace: context.namespace || "default" };
}

/** The config with a cluster, a user and a context of one name, which becomes the current one; other entries stay as they are. */
export const withEntry = (config: Kubeconfig, name: string, cluster: KubeCluster, user: KubeUser): Kubeconfig => ({
  ...config,
  clusters: [...without(config.clusters, name), { name, cluster }],
  users: [...without(config.users, name), { name, user }],
  contexts: [...without(config.contexts, name), { name, context: { cluster: name, user: name } }],
  "current-context": name,
});

export const withoutEntry = (config: Kubeconfig, name: string): Kubeconfig => ({
  ...config,
  clusters: without(config.clusters, name),
  users: without(config.users, name),
  contexts: without(config.contexts, name),
  "current-context": config["current-context"] === name ? "" : config["current-context"],
});

const without = <T extends NamedEntry>(entries: readonly T[], name: string): readonly T[] =>
  entries.filter((entry) => entry.name !== name);

const isEntry = (value: unknown): value is Entry =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const withoutNulls = (entry: Entry): Entry =>
  Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== null));
const typeName = (value: unknown): string =>
  value === null
    ? "nothing"
    : Array.isArray(value)
      ? "a list"
      : `a ${typeof value === "object" ? "mapping" : typeof value}`;
const isAbsolute = (path: string): boolean => path.startsWith("/") || /^[A-Za-z]:[\\/]/.test(path);
