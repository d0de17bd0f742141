// Whether a name can be that of an image, by the grammar that all registries share (github.com/distribution/reference), with the words
// of its library: people search for them.
// Upstream: vendor/github.com/distribution/reference/regexp.go.
import { own } from "#base/collections.ts";

const anyCase = "[a-zA-Z0-9]";
const label = `${anyCase}(?:[a-zA-Z0-9-]*${anyCase})?`;
const domain = `(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`;
const part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
const path = `${part}(?:/${part})*`;
const tag = "\\w[\\w.-]{0,127}";
const digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}";
const reference = new RegExp(`^(?:${domain}/)?(${path})(?::${tag})?(?:@(${digest}))?$`);

const maxCharacters = 255;
const digestLengths: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/** Undefined if nothing is wrong with it. */
export function imageNameProblem(image: string): string | undefined {
  if (/^[a-f0-9]{64}$/.test(image))
    return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  const full = withDomain(image);
  const [repository = ""] = full.slice(full.indexOf("/") + 1).split(":");
  if (repository !== repository.toLowerCase())
    return `invalid reference format: repository name (${repository}) must be lowercase`;
  const found = reference.exec(full);
  if (!found) return "invalid reference format";
  const [, name = "", sum] = found;
  if (name.length > maxCharacters) return `repository name must not be more than ${maxCharacters} characters`;
  if (sum === undefined) return undefined;
  const [algorithm = "", value = ""] = sum.split(":");
  const length = Object.hasOwn(digestLengths, algorithm) ? own(digestLengths, algorithm) : undefined;
  if (length === undefined) return "unsupported digest algorithm";
  if (value.length !== length) return "invalid checksum digest length";
  return /^[a-f0-9]+$/.test(value) ? undefined : "invalid checksum digest format";
}

/** A name without a registry is one of Docker's. */
function withDomain(image: string): string {
  const slash = image.indexOf("/");
  const first = image.slice(0, Math.max(0, slash));
  const isDomain = slash >= 0 && (/[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase());
  return isDomain ? image : `docker.io/${slash < 0 ? "library/" : ""}${image}`;
}
