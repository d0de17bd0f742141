import { readFileSync } from "node:fs";
import { isObject } from "#base/is-object.ts";
import type { Kubeconfig } from "#client/kubeconfig.ts";
import { command } from "../../command.ts";
import { KubectlError, usageError } from "../../errors.ts";
import { outputPrinter, printFlags } from "../../printers/output.ts";
import { type ConfigEntry, entryIn, startingConfig } from "./config-files.ts";

const certificateFields = { clusters: ["certificate-authority"], users: ["client-certificate", "client-key"] } as const;

export const view = command({
  use: "view [flags]",
  long: "Display the settings of all kubeconfigs merged, or of the one that --kubeconfig names. Secrets are left out unless --raw asks for them.",
  flags: {
    ...printFlags,
    output: { ...printFlags.output, default: "yaml" },
    flatten: { type: "bool", help: "Put the content of files into the output, so that it stands alone." },
    merge: { type: "bool", default: true, help: "Merge all kubeconfigs." },
    minify: { type: "bool", help: "Only what the current context uses." },
    raw: { type: "bool", help: "Show secrets and certificates." },
  },
  async run(session, args, flags, { commandPath }) {
    if (args.length > 0) throw usageError(`unexpected arguments: [${args.join(" ")}]`, commandPath);
    if (!flags.merge && session.globals.kubeconfig === "")
      throw new KubectlError("if merge==false a precise file must be specified");
    let config = await startingConfig(session);
    if (flags.minify) config = minified(config, session.globals.context);
    if (flags.flatten) config = mapEntries(config, flattened);
    else if (!flags.raw) config = mapEntries(config, redacted);
    if (flags.output === "json") {
      session.print(JSON.stringify(inOrder(shown(config)), undefined, 4));
      return;
    }
    const printer = outputPrinter(flags, { operation: "", cwd: session.io.cwd });
    printer.print(shown(config), (data) => session.io.stdout.write(data));
  },
});

/** Upstream prints its types, whose fields have this order. */
const fieldOrder = [
  ...["kind", "apiVersion", "preferences", "clusters", "users", "contexts", "current-context", "name", "server"],
  ...[
    "tls-server-name",
    "insecure-skip-tls-verify",
    "certificate-authority",
    "certificate-authority-data",
    "proxy-url",
  ],
  ...["disable-compression", "client-certificate", "client-certificate-data", "client-key", "client-key-data", "token"],
  ...["tokenFile", "as", "as-uid", "as-groups", "as-user-extra", "username", "password", "auth-provider", "exec"],
  ...["command", "args", "env", "installHint", "provideClusterInfo", "interactiveMode", "cluster", "user", "namespace"],
];

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isObject(value)) return value;
  const rank = (name: string) => (fieldOrder.includes(name) ? fieldOrder.indexOf(name) : fieldOrder.length);
  const entries = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(entries.map(([name, part]) => [name, inOrder(part)]));
}

/** As upstream's types write it: what is empty stays out, or is null. */
function shown(config: Kubeconfig): Record<string, unknown> {
  const { preferences, clusters, users, contexts, ...rest } = config;
  const named = (entries: readonly ConfigEntry[]) =>
    entries.length === 0 ? null : entries.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1));
  const hasPreferences = typeof preferences === "object" && preferences !== null && Object.keys(preferences).length > 0;
  return {
    ...rest,
    ...(hasPreferences && { preferences }),
    clusters: named(clusters),
    contexts: named(contexts),
    users: named(users),
  };
}

/** Throws KubectlError if the current context is not there. */
function minified(config: Kubeconfig, asked: string): Kubeconfig {
  const current = asked || config["current-context"];
  if (current === "") throw new KubectlError("current-context must exist in order to minify");
  const context = entryIn(config, "contexts", current);
  if (!context) throw new KubectlError(`cannot locate context ${current}`);
  return {
    ...config,
    "current-context": current,
    contexts: config.contexts.filter(({ name }) => name === current),
    clusters: config.clusters.filter(({ name }) => name === context.cluster),
    users: config.users.filter(({ name }) => name === context.user),
  };
}

type EntryChange = (list: "clusters" | "users", entry: ConfigEntry) => ConfigEntry;

const mapEntries = (config: Kubeconfig, change: EntryChange): Kubeconfig => ({
  ...config,
  clusters: config.clusters.map((one) => ({ ...one, cluster: change("clusters", one.cluster) })),
  users: config.users.map((one) => ({ ...one, user: change("users", one.user) })),
});

const redacted: EntryChange = (_, entry) =>
  Object.fromEntries(
    Object.entries(entry).map(([name, value]) => {
      if (/-data$/.test(name)) return [name, "DATA+OMITTED"];
      return ["token", "password"].includes(name) ? [name, "REDACTED"] : [name, value];
    }),
  );

const flattened: EntryChange = (list, entry) => {
  const result: Record<string, unknown> = { ...entry };
  for (const field of certificateFields[list]) {
    const path = result[field];
    if (typeof path !== "string") continue;
    delete result[field];
    result[`${field}-data`] = readFileSync(path).toString("base64");
  }
  return result;
};
