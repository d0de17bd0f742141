// Upstream: pkg/controller/podautoscaler/config/v1alpha1/defaults.go.

/** The knobs of the controller manager that concern autoscalers. */
export interface AutoscalerSettings {
  /** How often each autoscaler is looked at. */
  readonly syncMs: number;
  /** The share by which a metric may miss its target before anything happens. */
  readonly tolerance: number;
  /** How long the highest recommendation of the past counts, where the autoscaler does not say. */
  readonly downscaleStabilizationMs: number;
  /** How long after a pod's start its processor use may be that of its initialization. */
  readonly cpuInitializationMs: number;
  /** A pod that became unready this soon after its start has never been ready. */
  readonly initialReadinessMs: number;
}

export const autoscalerDefaults: AutoscalerSettings = {
  syncMs: 15_000,
  tolerance: 0.1,
  downscaleStabilizationMs: 300_000,
  cpuInitializationMs: 300_000,
  initialReadinessMs: 30_000,
};
