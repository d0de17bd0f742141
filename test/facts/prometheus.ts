// A strict reader of Prometheus' text format 0.0.4: what it does not understand, or what a scraper might stumble over, it refuses.

export interface ParsedFamily {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const metricName = "[a-zA-Z_:][a-zA-Z0-9_:]*";
const label = '[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\[\\\\"n])*"';
const sampleLine = new RegExp(`^(${metricName})(?:\\{(${label}(?:,${label})*)\\})? (\\S+)$`);
const numberText = /^(?:[+-]Inf|NaN|-?\d+(?:\.\d+)?(?:e[+-]\d\d+)?)$/;

export function parsePrometheus(text: string): readonly ParsedFamily[] {
  if (!text.endsWith("\n")) throw new Error("the last line does not end");
  const families: { name: string; help: string; type: string; samples: Sample[] }[] = [];
  let help: { readonly name: string; readonly text: string } | undefined;
  for (const line of text.slice(0, -1).split("\n")) {
    const [, helpName, helpText] = /^# HELP (\S+) (.*)$/.exec(line) ?? [];
    if (helpName !== undefined) {
      help = { name: helpName, text: helpText ?? "" };
      continue;
    }
    const [, name, type] = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line) ?? [];
    if (name !== undefined && type !== undefined) {
      if (help?.name !== name) throw new Error(`${name} has a type, but no help before it`);
      const last = families.at(-1)?.name ?? "";
      if (!(last < name)) throw new Error(`${name} comes after ${last}`);
      families.push({ name, help: help.text, type, samples: [] });
      continue;
    }
    const family = families.at(-1);
    if (!family) throw new Error(`a sample before its type: ${line}`);
    family.samples.push(sampleOf(line, family.name, family.type));
  }
  for (const family of families) check(family);
  return families;
}

function sampleOf(line: string, family: string, type: string): Sample {
  const [, name, labels = "", value = ""] = sampleLine.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a sample: ${line}`);
  const suffix = name.slice(family.length);
  const allowed = type === "histogram" ? ["_bucket", "_sum", "_count"] : [""];
  if (!name.startsWith(family) || !allowed.includes(suffix)) throw new Error(`${name} is not of ${family}`);
  if (!numberText.test(value)) throw new Error(`not a number: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(
    ([, key, escaped]) =>
      [key as string, (escaped ?? "").replaceAll(/\\(.)/g, (_, one) => (one === "n" ? "\n" : one))] as const,
  );
  if (new Set(pairs.map(([key]) => key)).size !== pairs.length) throw new Error(`a label comes twice: ${line}`);
  return {
    name,
    labels: Object.fromEntries(pairs),
    value: value === "+Inf" ? Number.POSITIVE_INFINITY : Number(value),
  };
}

function check({ name, type, samples }: ParsedFamily): void {
  if (samples.length === 0) throw new Error(`${name} has no samples`);
  const seen = new Set(samples.map((one) => JSON.stringify([one.name, Object.entries(one.labels).sort()])));
  if (seen.size !== samples.length) throw new Error(`${name} has a series twice`);
  if (type === "counter" && samples.some(({ value }) => !(value >= 0))) throw new Error(`${name} counts below zero`);
  if (type !== "histogram") return;
  const series = Map.groupBy(samples, ({ labels: { le: _, ...labels } }) =>
    JSON.stringify(Object.entries(labels).sort()),
  );
  for (const [which, ofSeries] of series) {
    const buckets = ofSeries.filter((one) => one.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => (labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le)));
    const count = ofSeries.find((one) => one.name === `${name}_count`)?.value;
    const rises = (values: readonly number[], strictly: boolean) =>
      values.every((one, i) => i === 0 || (strictly ? one > (values[i - 1] ?? 0) : one >= (values[i - 1] ?? 0)));
    if (!rises(bounds, true) || bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${name} ${which}: bounds`);
    if (
      !rises(
        buckets.map(({ value }) => value),
        false,
      )
    )
      throw new Error(`${name} ${which}: counts fall`);
    if (buckets.at(-1)?.value !== count) throw new Error(`${name} ${which}: the last bucket is not the count`);
    if (!ofSeries.some((one) => one.name === `${name}_sum`)) throw new Error(`${name} ${which}: no sum`);
  }
}
