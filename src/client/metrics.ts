// What the parts of this layer count. Whoever runs them decides where the numbers go; names are upstream's where dashboards use them.

export type MetricLabels = Readonly<Record<string, string>>;

export interface Metrics {
  /** Adds to a counter. */
  count(name: string, labels: MetricLabels, by?: number): void;
  /** Sets a gauge. */
  set(name: string, labels: MetricLabels, value: number): void;
  /** Notes a duration or a size. */
  observe(name: string, labels: MetricLabels, value: number): void;
}

export const noMetrics: Metrics = {
  count: () => undefined,
  set: () => undefined,
  observe: () => undefined,
};
