// The links of a page, changed while it passes. Everything but the changed URLs stays byte for byte as it was: bytes are handled as the characters
// of Latin-1, which is right for every encoding that agrees with ASCII. Which attributes hold URLs is upstream's list
// (apimachinery/pkg/util/proxy/transport.go); upstream reads the whole page first and writes all tags anew.
import { own } from "#base/collections.ts";

const urlAttributes: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

/** Elements whose content is text, whatever it looks like. */
const rawElements = new Set(["iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"]);

/** A longer tag is passed on as it is: to wait for its end would hold as much memory as the server likes. */
const longestTag = 64 * 1024;

/** The page with each URL as `rewrite` wants it. */
export async function* rewriteLinks(
  page: AsyncIterable<Uint8Array>,
  rewrite: (url: string) => string,
): AsyncGenerator<Uint8Array> {
  const reader = new LinkReader(rewrite);
  for await (const part of page) yield bytesOf(reader.read(textOf(part)));
  yield bytesOf(reader.end());
}

/** A call takes as many arguments as the stack has room for. */
const charactersAtOnce = 8192;

function textOf(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += charactersAtOnce)
    text += String.fromCharCode(...bytes.subarray(at, at + charactersAtOnce));
  return text;
}

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

class LinkReader {
  readonly #rewrite: (url: string) => string;
  /** What came and cannot be judged before more has come. */
  #held = "";
  /** In a comment, or in an element that holds text: what ends it. */
  #until: RegExp | undefined;

  constructor(rewrite: (url: string) => string) {
    this.#rewrite = rewrite;
  }

  /** What can be passed on once this has come. */
  read(more: string): string {
    const text = this.#held + more;
    let [done, at] = ["", 0];
    while (at < text.length) {
      const [piece, next] = this.#until ? this.#skip(text, at) : this.#next(text, at);
      done += piece;
      if (next === at) break;
      at = next;
    }
    this.#held = text.slice(at);
    return done;
  }

  end(): string {
    return this.#held;
  }

  /** Text that is passed on as it is, up to the end that is waited for. */
  #skip(text: string, at: number): readonly [string, number] {
    const rest = text.slice(at);
    const found = this.#until?.exec(rest);
    if (found) {
      this.#until = undefined;
      return [rest.slice(0, found.index), at + found.index];
    }
    const kept = Math.min(rest.length, longestEnd); // the end may have begun
    return [rest.slice(0, rest.length - kept), text.length - kept];
  }

  /** The next piece of text, or one tag. Nothing if more has to come first. */
  #next(text: string, at: number): readonly [string, number] {
    const open = text.indexOf("<", at);
    if (open < 0) return [text.slice(at), text.length];
    if (open > at) return [text.slice(at, open), open];
    if (text.startsWith("<!--", at)) {
      this.#until = /-->/;
      return ["<!--", at + 4];
    }
    if ("<!--".startsWith(text.slice(at))) return ["", at];
    if (!/[a-z]/i.test(text.charAt(at + 1))) return ["<", at + 1];
    const tag = readTag(text, at);
    if (!tag) return text.length - at > longestTag ? [text.slice(at), text.length] : ["", at];
    if (rawElements.has(tag.name)) this.#until = new RegExp(`</${tag.name}(?=[\\s/>])`, "i");
    if (tag.name === "plaintext") this.#until = /(?!)/; // it never ends
    return [this.#rewritten(text, at, tag), tag.end];
  }

  #rewritten(text: string, start: number, { name, attributes, end }: Tag): string {
    const wanted = own(urlAttributes, name) ?? [];
    let [done, at] = ["", start];
    for (const attribute of attributes) {
      if (!wanted.includes(attribute.name)) continue;
      const url = text.slice(attribute.from, attribute.to);
      const changed = this.#rewrite(url);
      if (changed === url) continue;
      // What the page says of a URL is escaped already; what was put before it has no quotes or signs of tags in it.
      done += text.slice(at, attribute.from) + changed.replaceAll(/["'<>`\s]/g, encodeURIComponent);
      at = attribute.to;
    }
    return done + text.slice(at, end);
  }
}

/** `</textarea` and what must follow. */
const longestEnd = 11;

interface Tag {
  readonly name: string;
  readonly attributes: readonly { readonly name: string; readonly from: number; readonly to: number }[];
  readonly end: number;
}

/** The tag that begins here, or undefined if its end is not here yet. Each character is looked at once. */
function readTag(text: string, start: number): Tag | undefined {
  const skip = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return pattern.test(text) ? pattern.lastIndex : from;
  };
  const nameEnd = skip(/[^\s/>]+/y, start + 1);
  const name = text.slice(start + 1, nameEnd).toLowerCase();
  const attributes: Tag["attributes"][number][] = [];
  for (let at = nameEnd; ; ) {
    at = skip(/[\s/]+/y, at);
    if (at >= text.length) return undefined;
    if (text[at] === ">") return { name, attributes, end: at + 1 };
    const keyEnd = skip(/[^\s/>=]+/y, at + 1);
    const equals = skip(/\s+/y, keyEnd);
    const key = text.slice(at, keyEnd).toLowerCase();
    at = keyEnd;
    if (text[equals] !== "=") continue;
    const from = skip(/\s+/y, equals + 1);
    const quote = text[from];
    if (quote === '"' || quote === "'") {
      const to = text.indexOf(quote, from + 1);
      if (to < 0) return undefined;
      attributes.push({ name: key, from: from + 1, to });
      at = to + 1;
    } else {
      at = skip(/[^\s>]+/y, from);
      attributes.push({ name: key, from, to: at });
    }
  }
}
