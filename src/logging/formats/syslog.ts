// Syslog messages (RFC 5424), and how they stand one after another in a stream (RFC 6587, octet counting, as RFC 5425 has it over TLS).
import type { ContainerLine } from "../log-line.ts";

export interface SyslogOptions {
  /** 0 to 23. */
  readonly facility: number;
  /** The longest message, in bytes; a longer one loses its end. */
  readonly maxBytes: number;
}

const severities = { stdout: 6, stderr: 3 } as const;
/** The number that IANA keeps for examples: we have none of our own. */
const structuredId = "kubernetes@32473";
const encoder = new TextEncoder();

export function syslogMessage(line: ContainerLine, { facility, maxBytes }: SyslogOptions): Uint8Array {
  const { source, time, stream, text } = line;
  const { node, namespace, pod, container, uid, labels } = source;
  const priority = facility * 8 + severities[stream];
  const fields = { namespace, pod, container, uid, stream, ...labelFields(labels) };
  const data = Object.entries(fields).map(([name, value]) => `${name}="${escaped(value)}"`);
  const head = [
    `<${priority}>1`,
    // No more than six decimals are allowed.
    time.replace(/(\.\d{6})\d*/, "$1"),
    word(node, 255),
    word(container, 48),
    word(pod, 128),
    "-",
    `[${structuredId} ${data.join(" ")}]`,
  ].join(" ");
  return cut(encoder.encode(`${head} ${text}`), maxBytes);
}

/** In front of each message stands how many bytes it has. */
export function framed(message: Uint8Array): Uint8Array {
  const length = encoder.encode(`${message.length} `);
  const frame = new Uint8Array(length.length + message.length);
  frame.set(length);
  frame.set(message, length.length);
  return frame;
}

/** As one parameter: names of labels have characters that names of parameters may not have. */
const labelFields = (labels: ContainerLine["source"]["labels"]): { readonly labels?: string } => {
  const text = Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
  return text === "" ? {} : { labels: text };
};

const escaped = (value: string): string => value.replaceAll(/["\\\]]/g, "\\$&");

/** Printable ASCII without spaces; `-` for nothing. */
const word = (text: string, most: number): string => text.replaceAll(/[^\x21-\x7e]/g, "_").slice(0, most) || "-";

/** Not in the middle of a character. */
function cut(bytes: Uint8Array, most: number): Uint8Array {
  if (bytes.length <= most) return bytes;
  let end = most;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end);
}
