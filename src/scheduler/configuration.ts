// Which plugins take part in scheduling, for which scheduler names, and with what settings.
import type { PluginContext, SchedulerPlugin } from "./framework.ts";
import type { PluginEntry } from "./plugins/list.ts";
import { type EnabledPlugin, type ExtensionPoint, extensionPoints, Profile } from "./profile.ts";

export interface SchedulerConfiguration {
  readonly profiles?: readonly ProfileConfiguration[];
  readonly percentageOfNodesToScore?: number;
  readonly podInitialBackoffSeconds?: number;
  readonly podMaxBackoffSeconds?: number;
}

export interface ProfileConfiguration {
  readonly schedulerName?: string;
  readonly percentageOfNodesToScore?: number;
}

export const defaultSchedulerName = "default-scheduler";

/** The profiles of a configuration, by scheduler name. */
export function makeProfiles(
  { profiles = [{}], percentageOfNodesToScore = 0 }: SchedulerConfiguration,
  entries: readonly PluginEntry[],
  context: PluginContext,
): ReadonlyMap<string, Profile> {
  return new Map(
    profiles.map(({ schedulerName = defaultSchedulerName, percentageOfNodesToScore: own }) => {
      const made = entries.map(({ make, weight = 1 }) => ({ plugin: make({} as never, context), weight }));
      const enabled = Object.fromEntries(
        extensionPoints.map((point) => [point, made.filter(({ plugin }) => has(plugin, point))]),
      ) as unknown as Record<ExtensionPoint, EnabledPlugin[]>;
      return [
        schedulerName,
        new Profile({ schedulerName, percentageOfNodesToScore: own ?? percentageOfNodesToScore, enabled }),
      ];
    }),
  );
}

const has = (plugin: SchedulerPlugin, point: ExtensionPoint): boolean => plugin[point] !== undefined;
