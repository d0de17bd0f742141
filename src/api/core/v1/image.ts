// Names of container images as registries read them: `registry.example:5000/team/app:1.2@sha256:…`.

export interface ImageName {
  readonly domain: string;
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
}

const domainPart = /^(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])$/;
const pathPart = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const tagPart = /^\w[\w.-]{0,127}$/;
const digestPart = /^[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$/;
const mostNameBytes = 255;

/** The parts of an image's name with the default registry filled in; undefined if it is no valid name. */
export function parseImage(image: string): ImageName | undefined {
  if (/^[a-f0-9]{64}$/.test(image)) return undefined; // an image id, which no registry knows
  const { domain, rest } = splitDomain(image);
  const at = rest.indexOf("@");
  const digest = at === -1 ? undefined : rest.slice(at + 1);
  const named = at === -1 ? rest : rest.slice(0, at);
  const colon = named.indexOf(":");
  const tag = colon === -1 ? undefined : named.slice(colon + 1);
  const path = colon === -1 ? named : named.slice(0, colon);
  if (domain.length + 1 + path.length > mostNameBytes) return undefined;
  const fits =
    isDomain(domain) &&
    path.split("/").every((part) => pathPart.test(part)) &&
    (tag === undefined || tagPart.test(tag)) &&
    (digest === undefined || digestPart.test(digest));
  return fits ? { domain, path, ...(tag && { tag }), ...(digest && { digest }) } : undefined;
}

/** The tag that will be pulled: `latest` where neither tag nor digest says otherwise, nothing where the name is invalid. */
export function imageTag(image: string): string {
  const known = recentTags.get(image);
  if (known !== undefined) return known;
  const name = parseImage(image);
  const tag = name ? (name.tag ?? (name.digest ? "" : "latest")) : "";
  if (recentTags.size >= mostRecent) recentTags.clear();
  if (image.length <= mostNameBytes) recentTags.set(image, tag);
  return tag;
}

/** A cluster runs the same few images over and over, and to take a name apart takes 4 µs. */
const recentTags = new Map<string, string>();
const mostRecent = 1024;

/** What comes before the first slash is a registry only if it looks like a host; `app/web` is on the default one. */
function splitDomain(image: string): { domain: string; rest: string } {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(slash, 0));
  const isHost = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  const domain = slash !== -1 && isHost ? (first === "index.docker.io" ? "docker.io" : first) : "docker.io";
  const rest = slash !== -1 && isHost ? image.slice(slash + 1) : image;
  return { domain, rest: domain === "docker.io" && !rest.includes("/") ? `library/${rest}` : rest };
}

function isDomain(domain: string): boolean {
  const [host = "", port] = domain.startsWith("[") ? splitBracketed(domain) : domain.split(/:(.*)/s);
  if (port !== undefined && !/^[0-9]+$/.test(port)) return false;
  return host.startsWith("[")
    ? /^\[[a-fA-F0-9:]+\]$/.test(host)
    : host.split(".").every((part) => domainPart.test(part));
}

function splitBracketed(domain: string): [host: string, port?: string] {
  const end = domain.indexOf("]") + 1;
  const rest = domain.slice(end);
  return rest === "" ? [domain] : [domain.slice(0, end), rest.startsWith(":") ? rest.slice(1) : "?"];
}
