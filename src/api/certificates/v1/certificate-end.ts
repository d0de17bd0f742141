// When a certificate ends. Read here and not by Node's crypto, since whoever asks also runs where that is not.
//
//   SEQUENCE { SEQUENCE { [0] version, INTEGER serial, algorithm, Name issuer, SEQUENCE { from, to }, … }, … }
import { fromBase64 } from "#base/base64.ts";
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";

const versionTag = 0xa0;

/** Milliseconds since 1970, of the first certificate of a PEM in base64; undefined if that is none that can be read. */
export function certificateEnd(pem: string): number | undefined {
  const block = /-----BEGIN CERTIFICATE-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----/.exec(atob(pem));
  const bytes = block?.[1] === undefined ? undefined : fromBase64(block[1].replaceAll(/\s/g, ""));
  if (!bytes) return undefined;
  try {
    const [body] = derElements(derInside(derElement(bytes), derTag.sequence));
    const fields = derElements(derInside(body, derTag.sequence));
    const validity = fields[fields[0]?.tag === versionTag ? 4 : 3];
    const [, to] = derElements(derInside(validity, derTag.sequence));
    return to && timeIn(to);
  } catch (error) {
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** `YYMMDDhhmmssZ`, where years from 50 on are of the last century, or the same with four digits of the year. */
function timeIn({ tag, content }: DerElement): number | undefined {
  const text = String.fromCharCode(...content);
  const century = Number(text.slice(0, 2)) < 50 ? "20" : "19";
  const digits = tag === derTag.utcTime ? `${century}${text}` : text;
  const parts = /^(\d{4})(\d{2})(\d{2})(\d{2})(\d{2})(\d{2})Z$/.exec(digits);
  if (!parts) return undefined;
  const [, year, month, day, hours, minutes, seconds] = parts.map(Number);
  return Date.UTC(year ?? 0, (month ?? 1) - 1, day, hours, minutes, seconds);
}
