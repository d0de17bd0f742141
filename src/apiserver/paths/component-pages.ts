// What the server tells of itself at `/statusz` and `/flagz`: as text for people, or as an object for those who ask for one by name, as
// in `Accept: application/json;g=config.k8s.io;v=v1beta1;as=Statusz`. See k8s.io/apiserver/pkg/server/statusz and flagz.
import type { Clock } from "#base/clock.ts";
import { timeOf } from "#schema/time.ts";
import { type HttpRequest, type HttpResponse, uncached } from "#wire/http.ts";
import { jsonType, negotiate, type RequestedConversion, yamlType } from "#wire/negotiate.ts";
import { notAcceptable } from "#wire/status.ts";
import { printYaml } from "#wire/yaml/write.ts";

/** What a server knows about itself. */
export interface OwnPages {
  readonly clock: Clock;
  /** When the server was started, in milliseconds. */
  readonly startedAt: number;
  readonly version: Readonly<Record<string, string>>;
  /** The flags of the command with their values; without these there is no `/flagz`. */
  readonly flags?: Readonly<Record<string, string>>;
}

const component = "apiserver";
const group = "config.k8s.io";
const textType = "text/plain";
const offers = [jsonType, yamlType, textType].map((mediaType) => ({ mediaType, streams: false }));
/** The newest first; requests for older versions get a deprecation warning. */
const versions = ["v1beta1", "v1alpha1"];

export function statusPage(request: HttpRequest, pages: OwnPages, paths: readonly string[]): HttpResponse {
  const { clock, startedAt, version } = pages;
  const seconds = Math.max(0, Math.floor((clock.now() - startedAt) / 1000));
  const facts = {
    startTime: timeOf(startedAt),
    uptimeSeconds: seconds,
    goVersion: version.goVersion ?? "",
    binaryVersion: (version.gitVersion ?? "").replace(/^v/, ""),
    emulationVersion: `${version.emulationMajor ?? version.major}.${version.emulationMinor ?? version.minor}`,
    paths: folders(paths),
  };
  return page(request, "Statusz", facts, () =>
    [
      "",
      `Started: ${unixDate(startedAt)}`,
      `Up: ${upTime(seconds)}`,
      `Go version: ${facts.goVersion}`,
      `Binary version: ${facts.binaryVersion}`,
      `Emulation version: ${facts.emulationVersion}`,
      `Paths: ${facts.paths.join(" ")}`,
    ].join("\n"),
  );
}

export function flagsPage(request: HttpRequest, flags: Readonly<Record<string, string>>): HttpResponse {
  const sorted = Object.entries(flags).sort(([a], [b]) => (a < b ? -1 : 1));
  return page(request, "Flagz", { flags: Object.fromEntries(sorted) }, () =>
    sorted.map(([name, value]) => `${name}=${value}`).join("\n"),
  );
}

/** Clients without an Accept header get text. */
function page(request: HttpRequest, kind: "Statusz" | "Flagz", facts: object, text: () => string): HttpResponse {
  const accept = request.headers.accept?.trim() || textType;
  const result = negotiate(accept, {
    offers,
    isWatch: false,
    allows: (convert, mediaType) => mediaType !== textType && isServed(convert, kind),
    allowsPlain: (mediaType) => mediaType === textType,
  });
  if (!("accepted" in result)) throw notAcceptable(result.acceptable);
  const { convert, mediaType } = result.accepted;
  if (!convert) return answer(`${textType}; charset=utf-8`, `${heading(kind)}${text()}\n`);
  const { version } = convert;
  const object = { kind, apiVersion: `${group}/${version}`, metadata: { name: component }, ...facts };
  const body = mediaType === yamlType ? printYaml(object) : `${JSON.stringify(object)}\n`;
  const answered = answer(`${mediaType};g=${group};v=${version};as=${kind}`, body);
  return version === versions[0] ? answered : { ...answered, headers: { ...answered.headers, ...isOld(kind) } };
}

const answer = (contentType: string, body: string): HttpResponse => ({
  code: 200,
  headers: { "content-type": contentType, ...uncached },
  body,
});

const isServed = (convert: RequestedConversion, kind: string): boolean =>
  convert.group === group && convert.kind === kind && versions.includes(convert.version);

const isOld = (kind: string) => ({
  warning: `299 - "This version of the ${kind.toLowerCase()} endpoint is deprecated. Please use a newer version."`,
});

const heading = (kind: string): string => `
${component} ${kind.toLowerCase()}
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`;

const unlisted: ReadonlySet<string> = new Set(["/api", "/apis", "/openapi", "/openid", "/.well-known"]);

/** The first parts of the paths, without those of the API itself. */
const folders = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths.map((path) => `/${path.split("/")[1] ?? ""}`))]
    .filter((folder) => folder !== "/" && !unlisted.has(folder))
    .sort();

const twoDigits = (number: number): string => String(number).padStart(2, "0");

const upTime = (seconds: number): string =>
  `${Math.floor(seconds / 3600)} hr ${twoDigits(Math.floor(seconds / 60) % 60)} min ${twoDigits(seconds % 60)} sec`;

/** As `date` writes it: `Mon Jan  2 15:04:05 UTC 2006`. */
function unixDate(ms: number): string {
  const [, weekday = "", day = "", month = "", year = "", time = ""] =
    /^(\w+), (\d+) (\w+) (\d+) (\S+)/.exec(new Date(ms).toUTCString()) ?? [];
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`;
}
