// Outputs over HTTP: Loki, Elasticsearch, and the store of the cluster.
import { bulkBody, bulkPath, bulkReport } from "../formats/elasticsearch.ts";
import { lokiPath, lokiPush } from "../formats/loki.ts";
import type { LogOutput, SendReport } from "../output.ts";
import type { OutputSettings } from "../settings.ts";
import { formatBatch } from "../store/batch.ts";
import { type HttpAnswer, type HttpSenderOptions, httpSender } from "./http-sender.ts";

type Trust = Pick<HttpSenderOptions, "ca" | "headers">;
type SettingsOf<T extends OutputSettings["type"]> = Extract<OutputSettings, { readonly type: T }>;

/** What is posted below the path of the address that is configured. */
const below = (url: URL, path: string): URL => new URL(`${url.pathname.replace(/\/+$/, "")}${path}${url.search}`, url);
const json = { "content-type": "application/json" };

/** A batch that was refused is refused as a whole. */
const reportOf = ({ code, text }: HttpAnswer, lines: number): SendReport =>
  code < 300 ? {} : { rejected: lines, reason: `${code}: ${text.slice(0, 300).trim()}` };

export function lokiOutput({ url, tenant, podLabels }: SettingsOf<"loki">, trust: Trust): LogOutput {
  const sender = httpSender({ ...trust, url: below(url, lokiPath) });
  const headers = { ...json, ...(tenant !== "" && { "x-scope-orgid": tenant }) };
  return {
    name: `loki at ${url.host}`,
    send: async (lines, signal) =>
      reportOf(await sender.post(lokiPush(lines, podLabels), headers, signal), lines.length),
    close: () => sender.close(),
  };
}

export function elasticsearchOutput(
  { url, index }: SettingsOf<"elasticsearch">,
  epoch: string,
  trust: Trust,
): LogOutput {
  const sender = httpSender({ ...trust, url: below(url, bulkPath) });
  const headers = { "content-type": "application/x-ndjson" };
  return {
    name: `elasticsearch at ${url.host}`,
    async send(lines, signal) {
      const answer = await sender.post(bulkBody(lines, index, epoch), headers, signal);
      return answer.code < 300 ? bulkReport(answer.text, lines) : reportOf(answer, lines.length);
    },
    close: () => sender.close(),
  };
}

export interface StoreOutputOptions extends Pick<HttpSenderOptions, "url"> {
  readonly epoch: string;
  readonly ca: string | undefined;
  /** Asked for each batch: tokens are renewed. */
  readonly authorization: () => Promise<string>;
}

/** The store passes over lines that it has, so a batch that is sent twice is kept once. */
export function storeOutput({ url, epoch, ca, authorization }: StoreOutputOptions): LogOutput {
  const sender = httpSender({ url, ca });
  return {
    name: "store",
    async send(lines, signal) {
      const headers = { ...json, authorization: await authorization() };
      return reportOf(await sender.post(formatBatch(epoch, lines), headers, signal), lines.length);
    },
    close: () => sender.close(),
  };
}
