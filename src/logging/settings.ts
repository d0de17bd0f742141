// What the ConfigMap of the add-on says: a key for each setting. Throws UsageError that names the key, what it says and what it may say.
import { DurationError, parseDurationMs } from "#base/duration.ts";
import { UsageError } from "#base/errors.ts";
import { parseQuantity, QuantityError, quantityToNumber } from "#schema/quantity.ts";

export interface LogSettings {
  readonly output: OutputSettings;
  readonly batch: { readonly lines: number; readonly bytes: number; readonly waitMs: number };
  readonly bufferBytes: number;
  readonly maxLineBytes: number;
  readonly retention: LogRetention;
}

/** How much the store keeps. */
export interface LogRetention {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

export type OutputSettings =
  | { readonly type: "store" }
  | { readonly type: "loki"; readonly url: URL; readonly tenant: string; readonly podLabels: readonly string[] }
  | { readonly type: "elasticsearch"; readonly url: URL; readonly index: string }
  | { readonly type: "syslog"; readonly url: URL; readonly facility: number };

type Texts = Readonly<Record<string, string | undefined>>;

/** Of all settings. An empty text counts as none. */
const usual = {
  output: "store",
  url: "",
  batchLines: "1000",
  batchBytes: "512Ki",
  batchWait: "1s",
  bufferBytes: "8Mi",
  maxLineBytes: "256Ki",
  "loki.tenant": "",
  "loki.podLabels": "app,app.kubernetes.io/name",
  "elasticsearch.index": "kubernetes-%{date}",
  "syslog.facility": "1",
  "store.maxBytes": "1Gi",
  "store.maxAge": "168h",
} as const;
type SettingName = keyof typeof usual;

export function parseLogSettings(given: Texts): LogSettings {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(usual, name));
  if (unknown !== undefined)
    throw new UsageError(`there is no setting ${JSON.stringify(unknown)}; there are ${Object.keys(usual).join(", ")}`);
  const texts = (name: SettingName): string => given[name]?.trim() || usual[name];
  return {
    output: outputOf(texts),
    batch: {
      lines: countOf(texts, "batchLines", [1, 10_000]),
      bytes: bytesOf(texts, "batchBytes", [1024, 1024 ** 2]),
      waitMs: durationOf(texts, "batchWait"),
    },
    bufferBytes: bytesOf(texts, "bufferBytes", [64 * 1024, 256 * 1024 ** 2]),
    maxLineBytes: bytesOf(texts, "maxLineBytes", [1024, 512 * 1024]),
    retention: {
      maxBytes: bytesOf(texts, "store.maxBytes", [16 * 1024 ** 2, 1024 ** 5]),
      maxAgeMs: durationOf(texts, "store.maxAge"),
    },
  };
}

type TextOf = (name: SettingName) => string;

function outputOf(texts: TextOf): OutputSettings {
  const type = texts("output");
  switch (type) {
    case "store":
      return { type };
    case "loki": {
      const podLabels = texts("loki.podLabels").split(/[\s,]+/);
      return { type, url: urlOf(texts, ["http:", "https:"]), tenant: texts("loki.tenant"), podLabels };
    }
    case "elasticsearch":
      return { type, url: urlOf(texts, ["http:", "https:"]), index: texts("elasticsearch.index") };
    case "syslog":
      return {
        type,
        url: urlOf(texts, ["udp:", "tcp:", "tls:"]),
        facility: countOf(texts, "syslog.facility", [0, 23]),
      };
    default:
      throw new UsageError(`output: ${JSON.stringify(type)} is none of store, loki, elasticsearch, syslog`);
  }
}

function urlOf(texts: TextOf, protocols: readonly string[]): URL {
  const text = texts("url");
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname || !protocols.includes(url.protocol))
    throw new UsageError(
      `url: ${JSON.stringify(text)} is no address for the output ${texts("output")}; it begins with ${protocols.map((one) => `${one}//`).join(" or ")}`,
    );
  return url;
}

function countOf(texts: TextOf, name: SettingName, [least, most]: readonly [number, number]): number {
  const text = texts(name);
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least && count <= most) return count;
  throw new UsageError(`${name}: ${JSON.stringify(text)} is no number from ${least} to ${most}`);
}

function bytesOf(texts: TextOf, name: SettingName, [least, most]: readonly [number, number]): number {
  const text = texts(name);
  try {
    const bytes = quantityToNumber(parseQuantity(text));
    if (bytes >= least && bytes <= most) return Math.floor(bytes);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
  throw new UsageError(`${name}: ${JSON.stringify(text)} is no size from ${least} to ${most} bytes, such as 512Ki`);
}

function durationOf(texts: TextOf, name: SettingName): number {
  const text = texts(name);
  try {
    const ms = parseDurationMs(text);
    if (ms > 0) return ms;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
  }
  throw new UsageError(`${name}: ${JSON.stringify(text)} is no time such as 500ms or 168h`);
}
