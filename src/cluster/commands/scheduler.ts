import { readFileSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { readConfiguration, type SchedulerConfiguration } from "#scheduler/configuration.ts";
import { extenderCalls } from "#scheduler/host/extender-calls.ts";
import { loadPlugins } from "#scheduler/host/plugin-files.ts";
import { defaultPlugins } from "#scheduler/plugins/list.ts";
import { oldPlugins } from "#scheduler/policy/old-plugins.ts";
import { readPolicy } from "#scheduler/policy/policy.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import { DecodeError } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import { type AloneSettings, aloneFlags } from "../alone/flags.ts";
import { runAlone } from "../alone/run-alone.ts";
import { ineffectivePartFlags } from "../ineffective-flags.ts";

const flags = {
  ...aloneFlags("kube-scheduler", 10_259, 10_251),
  config: {
    type: "string",
    value: "FILE",
    help: "A KubeSchedulerConfiguration; what it says of leaders and of the API server counts before the flags",
  },
  "policy-config-file": {
    type: "string",
    value: "FILE",
    help: "A policy of predicates, priorities and extenders, as schedulers up to v1.22 took it; not together with --config",
  },
  plugin: {
    type: "strings",
    value: "FILE",
    help: "A module whose default export is a plugin of your own, or several; may be given repeatedly",
  },
} as const;

export const schedulerFlags = { ...ineffectivePartFlags, ...flags };

export const schedulerCommand: Command = {
  use: "scheduler [FLAGS]",
  help: flagsHelp(schedulerFlags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(schedulerFlags, args);
    if (rest.length > 0) throw new UsageError(`scheduler takes no arguments, got ${JSON.stringify(rest[0])}`);
    const { config, "policy-config-file": policy } = settings;
    if (config !== undefined && policy !== undefined)
      throw new UsageError("--config and --policy-config-file both say how to schedule; give one of them");
    const configuration =
      policy === undefined
        ? readFile("config", config, readConfiguration)
        : readFile("policy-config-file", policy, readPolicy);
    const plugins = [...defaultPlugins, ...oldPlugins, ...(await loadPlugins(settings.plugin))];
    await runAlone(
      "kube-scheduler",
      config === undefined ? settings : { ...settings, ...settingsIn(configuration, config) },
      (context) => new Scheduler({ ...context, configuration, plugins, callExtender: extenderCalls(context.clock) }),
    );
  },
};

function readFile(
  flag: string,
  file: string | undefined,
  read: (value: unknown, where: string) => SchedulerConfiguration,
): SchedulerConfiguration {
  if (file === undefined) return readConfiguration();
  try {
    return read(parseYaml(readFileSync(file, "utf8")).value, `--${flag} ${file}`);
  } catch (error) {
    if (error instanceof DecodeError) throw new UsageError(`--${flag} ${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The flag that each field of the file stands for. */
const fields = {
  leaderElection: {
    leaderElect: "leader-elect",
    leaseDuration: "leader-elect-lease-duration",
    renewDeadline: "leader-elect-renew-deadline",
    retryPeriod: "leader-elect-retry-period",
    resourceLock: "leader-elect-resource-lock",
    resourceName: "leader-elect-resource-name",
    resourceNamespace: "leader-elect-resource-namespace",
  },
  clientConnection: { kubeconfig: "kubeconfig" },
} as const satisfies Record<string, Record<string, keyof AloneSettings>>;

function settingsIn(configuration: SchedulerConfiguration, file: string): Partial<AloneSettings> {
  const values: Record<string, string | boolean> = {};
  for (const part of ["leaderElection", "clientConnection"] as const) {
    const given = configuration[part];
    for (const [field, flag] of Object.entries(fields[part])) {
      const value = typeof given === "object" && given !== null ? (given as Record<string, unknown>)[field] : undefined;
      if (value === undefined || value === "") continue;
      const wanted = field === "leaderElect" ? "boolean" : "string";
      if (typeof value !== wanted || (typeof value !== "string" && typeof value !== "boolean"))
        throw new UsageError(`--config ${file}: ${part}.${field}: expected a ${wanted}, got ${JSON.stringify(value)}`);
      values[flag] = value;
    }
  }
  return values;
}
