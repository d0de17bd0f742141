// Flags of upstream's servers that manifests and scripts use and that change nothing here. They are accepted, so that such a command line
// works as it is, and a warning says of each given one what it does not do. Flags that would be harmful to ignore are not among them.
import type { Log } from "#base/log.ts";
import type { Flag, Flags } from "#cli/flags.ts";

interface IneffectiveFlag {
  readonly type: Flag["type"];
  /** What it does not do; what is not said follows "Without effect: ". */
  readonly why: string;
  /** A value that asks for what is the case anyway needs no warning. */
  readonly fine?: string;
}

const apiserverTable = {
  "allow-privileged": {
    type: "bool",
    why: "privileged containers are let through or refused by Pod Security, not by this",
    fine: "true",
  },
  "apiserver-count": { type: "int", why: "servers find each other by their leases" },
  "contention-profiling": { type: "bool", why: "there are no locks to profile", fine: "false" },
  "default-watch-cache-size": { type: "int", why: "watch caches take what they need" },
  "delete-collection-workers": { type: "int", why: "objects of a collection are deleted one after another" },
  "enable-garbage-collector": { type: "bool", why: "the garbage collector is the controller manager's", fine: "true" },
  "endpoint-reconciler-type": {
    type: "string",
    why: "the endpoints of the service kubernetes follow leases",
    fine: "lease",
  },
  "etcd-compaction-interval": { type: "string", why: "the history of an etcd is kept for ten minutes", fine: "5m0s" },
  "etcd-count-metric-poll-period": { type: "string", why: "objects are counted as they come and go" },
  "etcd-db-metric-poll-interval": { type: "string", why: "the size of a store is asked for when metrics are read" },
  "kubelet-timeout": { type: "string", why: "kubelets are waited for as long as clients wait" },
  "livez-grace-period": { type: "string", why: "a server is alive from the moment it answers" },
  "log-flush-frequency": { type: "string", why: "lines are written at once" },
  "logging-format": { type: "string", why: "a log is lines of JSON", fine: "json" },
  "permit-address-sharing": { type: "bool", why: "addresses are not shared", fine: "false" },
  "permit-port-sharing": { type: "bool", why: "ports are not shared", fine: "false" },
  profiling: { type: "bool", why: "profiles are taken with Node's own tools", fine: "false" },
  "storage-backend": { type: "string", why: "an etcd is spoken to in version 3", fine: "etcd3" },
  vmodule: { type: "string", why: "a log is as detailed for all files" },
  "watch-cache": { type: "bool", why: "reads come from memory in any case", fine: "true" },
  "watch-cache-sizes": { type: "strings", why: "watch caches take what they need" },
} as const satisfies Readonly<Record<string, IneffectiveFlag>>;

const partTable = {
  "contention-profiling": apiserverTable["contention-profiling"],
  "kube-api-burst": { type: "int", why: "writes are limited by what the server takes" },
  "kube-api-qps": { type: "string", why: "writes are limited by what the server takes" },
  "log-flush-frequency": apiserverTable["log-flush-frequency"],
  "logging-format": apiserverTable["logging-format"],
  profiling: apiserverTable.profiling,
  vmodule: apiserverTable.vmodule,
} as const satisfies Readonly<Record<string, IneffectiveFlag>>;

type Table = Readonly<Record<string, IneffectiveFlag>>;

const flagsIn = (table: Table): Flags =>
  Object.fromEntries(
    Object.entries(table).map(([name, { type, why }]) => [name, { type, help: `Without effect: ${why}` }]),
  );

export const ineffectiveServerFlags = flagsIn(apiserverTable);
export const ineffectivePartFlags = flagsIn(partTable);

/** Says of each flag that was given and has no effect why. */
export function warnOfIneffective(settings: Readonly<Record<string, unknown>>, log: Log): void {
  const table: Table = { ...apiserverTable, ...partTable };
  for (const [name, { why, fine }] of Object.entries(table)) {
    const value = settings[name];
    const isGiven = Array.isArray(value) ? value.length > 0 : value !== undefined;
    if (isGiven && String(value) !== fine) log.warn("a flag has no effect", { flag: `--${name}`, value, why });
  }
}
