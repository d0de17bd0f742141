import { readFileSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import type { Command } from "#cli/command.ts";
import { flagsHelp, parseFlags } from "#cli/flags.ts";
import { readConfiguration, type SchedulerConfiguration } from "#scheduler/configuration.ts";
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
} as const;

export const schedulerFlags = { ...ineffectivePartFlags, ...flags };

export const schedulerCommand: Command = {
  use: "scheduler [FLAGS]",
  help: flagsHelp(schedulerFlags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(schedulerFlags, args);
    if (rest.length > 0) throw new UsageError(`scheduler takes no arguments, got ${JSON.stringify(rest[0])}`);
    if (settings.config === undefined) return runAlone("kube-scheduler", settings, (context) => new Scheduler(context));
    const configuration = readFile(settings.config);
    await runAlone(
      "kube-scheduler",
      { ...settings, ...settingsIn(configuration, settings.config) },
      (context) => new Scheduler({ ...context, configuration }),
    );
  },
};

function readFile(file: string): SchedulerConfiguration {
  try {
    return readConfiguration(parseYaml(readFileSync(file, "utf8")).value, `--config ${file}`);
  } catch (error) {
    if (error instanceof DecodeError) throw new UsageError(`--config ${file}: ${error.message}`, { cause: error });
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
