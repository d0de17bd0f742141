// Where a webhook is called: by URL, or by a service of the cluster. Admission, conversion and aggregation share this.
import { dns1123Subdomain, portNumber } from "#schema/formats.ts";
import { invalid, type Problem, required } from "#schema/index.ts";

interface ClientConfig {
  readonly url?: string | undefined;
  readonly service?: WebhookService | undefined;
}
export interface WebhookService {
  readonly namespace: string;
  readonly name: string;
  readonly path?: string | undefined;
  readonly port: number;
}

export function* checkClientConfig({ url, service }: ClientConfig, path: string): Iterable<Problem> {
  if ((url === undefined) === (service === undefined))
    yield required(path, "exactly one of url or service is required");
  else if (url !== undefined) yield* checkUrl(url, `${path}.url`);
  else if (service) yield* checkService(service, `${path}.service`);
}

const form = "; desired format: https://host[/path]";

function* checkUrl(text: string, field: string): Iterable<Problem> {
  const parts =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  if (text.startsWith(":")) {
    yield required(field, `url must be a valid URL: parse ${JSON.stringify(text)}: missing protocol scheme${form}`);
    return;
  }
  if (!parts || /[\p{Cc} ]/u.test(text)) {
    yield required(field, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid character in URL${form}`);
    return;
  }
  const [, scheme = "", user, host = "", , query = "", fragment = ""] = parts;
  if (scheme.toLowerCase() !== "https") yield invalid(field, `'https' is the only allowed URL scheme${form}`, scheme);
  if (host === "") yield invalid(field, `host must be specified${form}`, host);
  if (user !== undefined) yield invalid(field, "user information is not permitted in the URL", user);
  if (fragment !== "") yield invalid(field, "fragments are not permitted in the URL", fragment);
  if (query !== "") yield invalid(field, "query parameters are not permitted in the URL", query);
}

function* checkService({ namespace, name, path = "", port }: WebhookService, field: string): Iterable<Problem> {
  // Upstream mistakes one for the other here, and answers that way.
  if (namespace === "") yield required(`${field}.name`);
  if (name === "") yield required(`${field}.namespace`);
  const portProblem = portNumber(port);
  if (portProblem) yield invalid(`${field}.port`, `port is not valid: ${portProblem}`);
  if (path === "" || path === "/") return;
  if (path === "//") {
    yield invalid(`${field}.path`, "segment[0] may not be empty", path);
    return;
  }
  if (!path.startsWith("/")) yield invalid(`${field}.path`, "must start with a '/'", path);
  for (const [i, step] of path.slice(1).replace(/\/$/, "").split("/").entries()) {
    if (step === "") yield invalid(`${field}.path`, `segment[${i}] may not be empty`, path);
    else for (const detail of dns1123Subdomain(step)) yield invalid(`${field}.path`, `segment[${i}]: ${detail}`, path);
  }
}
