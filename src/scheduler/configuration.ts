// Which plugins take part in scheduling, for which scheduler names, and with what settings.
import { UsageError } from "#base/errors.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { DecodeError } from "#schema/json.ts";
import { problemText } from "#schema/problem.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { validateObject } from "#schema/validate.ts";
import {
  configurationVersion,
  KubeSchedulerConfiguration,
  type KubeSchedulerProfile,
  type PluginSet,
} from "./configuration-kinds.ts";
import type { PluginContext, SchedulerPlugin } from "./framework.ts";
import type { PluginEntry } from "./plugins/list.ts";
import { type EnabledPlugin, type ExtensionPoint, extensionPoints, Profile } from "./profile.ts";

export type SchedulerConfiguration = KubeSchedulerConfiguration;

/** Reads a parsed KubeSchedulerConfiguration; nothing at all means the defaults. Throws UsageError that says what is wrong where. */
export function readConfiguration(value: unknown = {}, where = "scheduler configuration"): SchedulerConfiguration {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${where}: expected a KubeSchedulerConfiguration`);
  const { apiVersion = configurationVersion, kind = "KubeSchedulerConfiguration" } = value as Record<string, unknown>;
  if (apiVersion !== configurationVersion || kind !== "KubeSchedulerConfiguration")
    throw new UsageError(
      `${where}: expected kind KubeSchedulerConfiguration of ${configurationVersion}, found ${String(kind)} of ${String(apiVersion)}`,
    );
  return decodedSettings(KubeSchedulerConfiguration, value, where) as SchedulerConfiguration;
}

/** The profiles of a configuration, by scheduler name. Throws UsageError. */
export function makeProfiles(
  { profiles = [], percentageOfNodesToScore, extenders = [] }: SchedulerConfiguration,
  entries: readonly PluginEntry[],
  context: PluginContext,
): ReadonlyMap<string, Profile> {
  const wanted = profiles.length > 0 ? profiles : [{ schedulerName: "default-scheduler" }];
  const ignored = extenders.flatMap(({ managedResources = [] }) =>
    managedResources.flatMap(({ name, ignoredByScheduler }) => (ignoredByScheduler ? [name] : [])),
  );
  const made = wanted.map((profile, i) => {
    const enabled = enabledPlugins(ignoring(profile, ignored), `profiles[${i}]`, entries, context);
    const percentage = profile.percentageOfNodesToScore ?? percentageOfNodesToScore ?? 0;
    const { schedulerName } = profile;
    return new Profile({ schedulerName, percentageOfNodesToScore: percentage, enabled });
  });
  const [first] = made;
  for (const [i, profile] of made.entries())
    if (profile.sortsBy !== first?.sortsBy)
      throw new UsageError(`profiles[${i}].plugins.queueSort: must be the same for all profiles`);
  return new Map(made.map((profile) => [profile.schedulerName, profile]));
}

/** Resources that an extender looks after are not counted, whatever the profile says. */
function ignoring(profile: KubeSchedulerProfile, ignoredResources: readonly string[]): KubeSchedulerProfile {
  if (ignoredResources.length === 0) return profile;
  const others = (profile.pluginConfig ?? []).filter(({ name }) => name !== "NodeResourcesFit");
  const given = profile.pluginConfig?.find(({ name }) => name === "NodeResourcesFit")?.args ?? {};
  return { ...profile, pluginConfig: [...others, { name: "NodeResourcesFit", args: { ...given, ignoredResources } }] };
}

interface NamedPlugin {
  readonly name: string;
  readonly weight?: number | undefined;
}

function enabledPlugins(
  { plugins = {}, pluginConfig = [] }: KubeSchedulerProfile,
  where: string,
  entries: readonly PluginEntry[],
  context: PluginContext,
): Record<ExtensionPoint, readonly EnabledPlugin[]> {
  const pluginsByName = new Map(entries.map((entry) => [entry.name, entry]));
  const made = new Map<string, SchedulerPlugin>();
  const pluginOf = ({ name }: NamedPlugin, at: string): SchedulerPlugin => {
    const entry = pluginsByName.get(name);
    if (!entry) throw new UsageError(`${where}.${at}: plugin "${name}" does not exist`);
    const settings = pluginConfig.findIndex((one) => one.name === name);
    const given = pluginConfig[settings]?.args;
    const plugin =
      made.get(name) ?? entry.make(argsOf(entry, given, `${where}.pluginConfig[${settings}].args`), context);
    made.set(name, plugin);
    return plugin;
  };
  for (const [i, { name }] of pluginConfig.entries())
    if (!pluginsByName.has(name)) throw new UsageError(`${where}.pluginConfig[${i}]: plugin "${name}" does not exist`);
  const everywhere = merged(
    entries.filter(({ optional }) => !optional),
    plugins.multiPoint,
  );
  const enabled = Object.fromEntries(
    extensionPoints.map((point) => {
      const named = atPoint(point, everywhere, plugins[point], (one) => pluginOf(one, "plugins.multiPoint"), where);
      return [
        point,
        named.map((one) => {
          const plugin = pluginOf(one, `plugins.${point}`);
          if (plugin[point] === undefined)
            throw new UsageError(`${where}.plugins.${point}: plugin "${one.name}" does not take part in ${point}`);
          return { plugin, weight: one.weight || pluginsByName.get(one.name)?.weight || 1 };
        }),
      ];
    }),
  ) as unknown as Record<ExtensionPoint, readonly EnabledPlugin[]>;
  if (enabled.queueSort.length !== 1)
    throw new UsageError(`${where}: one queue sort plugin is required, but there are ${enabled.queueSort.length}`);
  if (enabled.bind.length === 0) throw new UsageError(`${where}: at least one bind plugin is needed`);
  return enabled;
}

const argsOf = ({ args }: PluginEntry, given: unknown, where: string): never =>
  // The struct of the entry says what its `make` takes; a plugin without one takes what it is given.
  (args ? decodedSettings(args, given ?? {}, where) : given) as never;

/** The defaults with what a profile changes: some left out, some with another weight but in their place, the others behind. */
function merged(
  defaults: readonly NamedPlugin[],
  { enabled = [], disabled = [] }: PluginSet = {},
): readonly NamedPlugin[] {
  const off = new Set(disabled.map(({ name }) => name));
  const kept = off.has("*") ? [] : defaults.filter(({ name }) => !off.has(name));
  const changed = kept.map(({ name, weight }) => enabled.find((one) => one.name === name) ?? { name, weight });
  return [...changed, ...enabled.filter(({ name }) => !kept.some((one) => one.name === name))];
}

/** Those named for the step that are enabled everywhere come first, then the others enabled everywhere, then the rest. */
function atPoint(
  point: ExtensionPoint,
  everywhere: readonly NamedPlugin[],
  { enabled = [], disabled = [] }: PluginSet = {},
  pluginOf: (named: NamedPlugin) => SchedulerPlugin,
  where: string,
): readonly NamedPlugin[] {
  for (const [i, { name }] of enabled.entries())
    if (enabled.findIndex((other) => other.name === name) < i)
      throw new UsageError(`${where}.plugins.${point}: plugin "${name}" is enabled twice`);
  const off = new Set(disabled.map(({ name }) => name));
  if (off.has("*")) return enabled;
  const general = everywhere.filter((one) => !off.has(one.name) && pluginOf(one)[point] !== undefined);
  const isIn = (names: readonly NamedPlugin[]) => (one: NamedPlugin) => names.some(({ name }) => name === one.name);
  return [
    ...enabled.filter(isIn(general)),
    ...general.filter((one) => !isIn(enabled)(one)),
    ...enabled.filter((one) => !isIn(general)(one)),
  ];
}

/** Decodes, defaults and validates settings. Throws UsageError that says what is wrong where. */
export function decodedSettings(struct: AnyStruct, value: unknown, where: string): object {
  try {
    const { object, strictErrors } = decodeValue(struct, structuredClone(value));
    if (strictErrors.length > 0) throw new UsageError(`${where}: ${strictErrors.join(", ")}`);
    applyDefaults(struct, object);
    const problems = validateObject(struct, object);
    if (problems.length > 0) throw new UsageError(`${where}: ${problems.map(problemText).join(", ")}`);
    return object;
  } catch (error) {
    if (error instanceof DecodeError) throw new UsageError(`${where}: ${error.message}`, { cause: error });
    throw error;
  }
}
