// Requests in the log, as `-v` asks for them (upstream: client-go/transport/round_trippers.go and the text format of klog).
import type { Clock } from "#base/clock.ts";
import { klogLine } from "../klog.ts";
import type { RestRequest, RestResponse } from "./request.ts";
import type { RestTransport } from "./transport.ts";

export class RequestLog {
  readonly #level: number;
  readonly #clock: Clock;
  readonly #write: (line: string) => void;

  constructor(level: number, clock: Clock, write: (line: string) => void) {
    this.#level = level;
    this.#clock = clock;
    this.#write = write;
  }

  request(request: RestRequest, transport: RestTransport): void {
    const { method = "GET", body } = request;
    if (this.#level < 7) return;
    const url = transport.urlOf(request);
    const headers = transport.headersOf(request);
    if (this.#level >= 9)
      this.#line("round_trippers.go:527", `"Request" curlCommand=${block(curl(method, url, headers))}`);
    else
      this.#line(
        "round_trippers.go:527",
        `"Request" verb=${quoted(method)} url=${quoted(url)} headers=${block(headerLines(headers))}`,
      );
    if (this.#level >= 8 && body !== undefined)
      this.#line("request.go:1351", `"Request Body" body=${this.#body(Buffer.from(body).toString("utf8"))}`);
  }

  /** The same answer; what is read of its body is logged if the level asks for it. */
  response(request: RestRequest, transport: RestTransport, answer: RestResponse, tookMs: number): RestResponse {
    if (this.#level < 6) return answer;
    const { method = "GET" } = request;
    const status = `status=${quoted(`${answer.status} ${answer.statusText}`)}`;
    const took = `milliseconds=${Math.trunc(tookMs)}`;
    const named = `verb=${quoted(method)} url=${quoted(transport.urlOf(request))}`;
    const parts =
      this.#level === 6 || this.#level >= 9
        ? [named, status, ...this.#headers(answer), took]
        : [status, ...this.#headers(answer), took];
    this.#line("round_trippers.go:632", `"Response" ${parts.join(" ")}`);
    return this.#level >= 8 && !request.isEndless ? { ...answer, body: this.#logged(answer.body) } : answer;
  }

  #headers({ headers }: RestResponse): readonly string[] {
    return this.#level >= 8 ? [`headers=${block(headerLines(headers))}`] : [];
  }

  async *#logged(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const part of body) {
      parts.push(part);
      yield part;
    }
    this.#line("request.go:1351", `"Response Body" body=${this.#body(Buffer.concat(parts).toString("utf8"))}`);
  }

  /** At level 8 a body is cut, at 9 less so, at 10 it is whole. */
  #body(text: string): string {
    const limit = this.#level >= 10 ? Number.POSITIVE_INFINITY : this.#level === 9 ? 10_240 : 1024;
    const shown = text.length > limit ? `${text.slice(0, limit)} [truncated ${text.length - limit} chars]` : text;
    return shown.includes("\n") ? block(shown.split("\n")) : quoted(shown);
  }

  #line(source: string, text: string): void {
    this.#write(klogLine(this.#clock, "I", source, text));
  }
}

const quoted = (text: string): string => JSON.stringify(text);
const block = (lines: readonly string[]): string => `<\n${lines.map((line) => `\t${line}\n`).join("")} >`;

function headerLines(headers: Readonly<Record<string, string | readonly string[] | undefined>>): readonly string[] {
  return Object.entries(headers)
    .flatMap(([name, value]) => [value ?? []].flat().map((one) => `${titled(name)}: ${masked(name, String(one))}`))
    .sort();
}

const curl = (method: string, url: string, headers: Readonly<Record<string, string | readonly string[]>>) => [
  `curl -v -X${method} ${headerLines(headers)
    .map((line) => ` -H "${line}"`)
    .join("")} '${url}'`,
];
const titled = (name: string): string =>
  name.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());

/** ClientCredentials do not belong into logs. */
function masked(name: string, value: string): string {
  if (name.toLowerCase() !== "authorization") return value;
  const [type = "", rest] = value.split(" ");
  if (!["bearer", "basic", "negotiate"].includes(type.toLowerCase())) return "<masked>";
  return rest === undefined ? type : `${type} <masked>`;
}
