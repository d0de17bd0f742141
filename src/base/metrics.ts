// What the system counts, in Prometheus' text format. A family has a name, a kind and labels; a series of it has values for the labels.
// Who counts often asks for the series once: then counting is an addition.
//
//   const requests = registry.counter({ name: "requests_total", help: "Requests.", labels: ["verb"] });
//   const gets = requests.of("GET");
//   gets.add();

export type MetricLabels = Readonly<Record<string, string>>;

/** For those who count seldom: by name, without a declaration. Whoever runs them decides where the numbers go. */
export interface Metrics {
  /** Adds to a counter. */
  count(name: string, labels: MetricLabels, by?: number): void;
  /** Sets a gauge. */
  set(name: string, labels: MetricLabels, value: number): void;
  /** Notes a duration or a size. */
  observe(name: string, labels: MetricLabels, value: number): void;
  /** Calls `read` before each exposition: for what is cheaper to look up than to follow. */
  reading(read: () => void | Promise<void>): void;
}

export const noMetrics: Metrics = {
  count: () => undefined,
  set: () => undefined,
  observe: () => undefined,
  reading: () => undefined,
};

export type Stability = "ALPHA" | "BETA" | "STABLE";

export interface MetricDeclaration {
  readonly name: string;
  readonly help: string;
  /** Names of the labels, in the order in which values are given. */
  readonly labels?: readonly string[];
  /** What upstream promises for the name; defaults to nothing. */
  readonly stability?: Stability;
}

export interface HistogramDeclaration extends MetricDeclaration {
  /** Upper bounds in ascending order; the one without a bound is added. */
  readonly buckets?: readonly number[];
}

/** Seconds, from a millisecond to ten seconds, for what nobody has declared. */
const usualBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class Counter {
  value = 0;

  add(by = 1): void {
    this.value += by;
  }
}

export class Gauge {
  value = 0;

  set(value: number): void {
    this.value = value;
  }

  add(by: number): void {
    this.value += by;
  }
}

export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  /** Notes a value, or several that are equal. */
  observe(value: number, times = 1): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++;
    (this.#counts[at] as number) += times;
    this.#sum += value * times;
  }

  /** How many values were at most as large as each bound, then how many there were at all, and their sum. */
  read(): { readonly upTo: readonly (readonly [bound: number, count: number])[]; readonly sum: number } {
    let total = 0;
    const bounds = [...this.#bounds, Number.POSITIVE_INFINITY];
    return {
      upTo: bounds.map((bound, i) => {
        total += this.#counts[i] as number;
        return [bound, total] as const;
      }),
      sum: this.#sum,
    };
  }
}

/** All series of one name. */
export class MetricFamily<S extends Counter | Gauge | Histogram> {
  readonly declaration: MetricDeclaration;
  readonly type: "counter" | "gauge" | "histogram";
  readonly #make: () => S;
  readonly #series = new Map<string, { readonly values: readonly string[]; readonly series: S }>();

  constructor(type: MetricFamily<S>["type"], declaration: MetricDeclaration, make: () => S) {
    this.type = type;
    this.declaration = declaration;
    this.#make = make;
  }

  /** The series with these values of the labels; made when it is first asked for. */
  of(...values: readonly string[]): S {
    const { labels = [], name } = this.declaration;
    if (values.length !== labels.length)
      throw new Error(`${name} has the labels ${JSON.stringify(labels)}, got values ${JSON.stringify(values)}`);
    const key = values.join("\0");
    const known = this.#series.get(key);
    if (known) return known.series;
    const series = this.#make();
    this.#series.set(key, { values, series });
    return series;
  }

  /** The series whose labels are given by name. */
  named(labels: MetricLabels): S {
    return this.of(...(this.declaration.labels ?? []).map((name) => labels[name] ?? ""));
  }

  /** Forgets one series: what it was about is gone. */
  forget(...values: readonly string[]): void {
    this.#series.delete(values.join("\0"));
  }

  /** Forgets all series: for what is read anew each time. */
  clear(): void {
    this.#series.clear();
  }

  *lines(): Generator<string> {
    if (this.#series.size === 0) return;
    const { name, help, labels = [], stability } = this.declaration;
    yield `# HELP ${name} ${escapeHelp(stability ? `[${stability}] ${help}` : help)}`;
    yield `# TYPE ${name} ${this.type}`;
    const sorted = labels.map((label, i) => ({ label, i })).sort((a, b) => (a.label < b.label ? -1 : 1));
    const texts = [...this.#series.values()].map(({ values, series }) => ({
      labels: sorted.map(({ label, i }) => `${label}="${escapeValue(values[i] ?? "")}"`).join(","),
      series,
    }));
    for (const { labels, series } of texts.sort((a, b) => (a.labels < b.labels ? -1 : 1)))
      if (series instanceof Histogram) yield* histogramLines(name, labels, series);
      else yield `${name}${labels && `{${labels}}`} ${formatNumber(series.value)}`;
  }
}

function* histogramLines(name: string, labels: string, series: Histogram): Generator<string> {
  const { upTo, sum } = series.read();
  for (const [bound, count] of upTo)
    yield `${name}_bucket{${labels && `${labels},`}le="${formatNumber(bound)}"} ${formatNumber(count)}`;
  const braces = labels && `{${labels}}`;
  yield `${name}_sum${braces} ${formatNumber(sum)}`;
  yield `${name}_count${braces} ${formatNumber(upTo.at(-1)?.[1] ?? 0)}`;
}

export const metricsMediaType = "text/plain; version=0.0.4; charset=utf-8";

/** All that one process counts. */
export class MetricRegistry implements Metrics {
  readonly #families = new Map<string, MetricFamily<Counter | Gauge | Histogram>>();
  readonly #readers: (() => void | Promise<void>)[] = [];

  counter(declaration: MetricDeclaration): MetricFamily<Counter> {
    return this.#declare(new MetricFamily("counter", declaration, () => new Counter()));
  }

  gauge(declaration: MetricDeclaration): MetricFamily<Gauge> {
    return this.#declare(new MetricFamily("gauge", declaration, () => new Gauge()));
  }

  histogram(declaration: HistogramDeclaration): MetricFamily<Histogram> {
    const { buckets = usualBuckets } = declaration;
    return this.#declare(new MetricFamily("histogram", declaration, () => new Histogram(buckets)));
  }

  reading(read: () => void | Promise<void>): void {
    this.#readers.push(read);
  }

  count(name: string, labels: MetricLabels, by = 1): void {
    const family = this.#families.get(name) ?? this.counter(undeclared(name, labels));
    const series = family.named(labels);
    if (!(series instanceof Counter)) throw wrongType(family, "counter");
    series.add(by);
  }

  set(name: string, labels: MetricLabels, value: number): void {
    const family = this.#families.get(name) ?? this.gauge(undeclared(name, labels));
    const series = family.named(labels);
    if (!(series instanceof Gauge)) throw wrongType(family, "gauge");
    series.set(value);
  }

  observe(name: string, labels: MetricLabels, value: number): void {
    const family = this.#families.get(name) ?? this.histogram(undeclared(name, labels));
    const series = family.named(labels);
    if (!(series instanceof Histogram)) throw wrongType(family, "histogram");
    series.observe(value);
  }

  /** Everything in Prometheus' text format, by name. */
  async text(): Promise<string> {
    for (const read of this.#readers) await read();
    const families = [...this.#families.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    return families.flatMap(([, family]) => [...family.lines()].map((line) => `${line}\n`)).join("");
  }

  #declare<S extends Counter | Gauge | Histogram>(family: MetricFamily<S>): MetricFamily<S> {
    const { name, labels = [] } = family.declaration;
    if (!/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name)) throw new Error(`${JSON.stringify(name)} is no name of a metric`);
    const wrong = labels.find((label) => !/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(label) || label === "le");
    if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is no name of a label of ${name}`);
    if (this.#families.has(name)) throw new Error(`${name} is declared twice`);
    this.#families.set(name, family as unknown as MetricFamily<Counter | Gauge | Histogram>);
    return family;
  }
}

/** A bug of whoever counts: the number would be lost without anyone noticing. */
const wrongType = ({ type, declaration }: Pick<MetricFamily<Counter>, "type" | "declaration">, used: string): Error =>
  new Error(`${declaration.name} is a ${type}, and is used as a ${used}`);

const undeclared = (name: string, labels: MetricLabels): MetricDeclaration => ({
  name,
  help: `${name.replaceAll("_", " ")}.`,
  labels: Object.keys(labels),
});

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
const escapeValue = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

/** As Go writes numbers, which is what people's tools have always read: 1e+06, 0.005, +Inf. */
export function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  if (value === 0 || Number.isNaN(value)) return String(value);
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
