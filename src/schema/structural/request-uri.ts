// Whether a text is what a request may ask for: an absolute URI or an absolute path. Follows Go's net/url.ParseRequestURI.

export function isRequestUri(text: string): boolean {
  if (text === "" || hasControls(text)) return false;
  if (text === "*") return true;
  if (text.startsWith(":")) return false;
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0] ?? "";
  const rest = text.slice(scheme.length);
  const end = rest.indexOf("?");
  const place = end < 0 ? rest : rest.slice(0, end);
  if (!place.startsWith("/")) return scheme !== ""; // what follows a scheme may be anything, as in mailto:me
  if (scheme === "" || !place.startsWith("//")) return isEscaped(place);
  const slash = place.indexOf("/", 2);
  const authority = slash < 0 ? place.slice(2) : place.slice(2, slash);
  return isAuthority(authority) && isEscaped(slash < 0 ? "" : place.slice(slash));
}

function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 0x20 || text.charCodeAt(i) === 0x7f) return true;
  return false;
}

/** Every percent sign begins an escape. */
const isEscaped = (text: string): boolean => !/%(?![0-9A-Fa-f]{2})/.test(text);

function isAuthority(authority: string): boolean {
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(at, 0));
  if (!isEscaped(user) || !/^[A-Za-z0-9\-._~!$&'()*+,;=:@%]*$/.test(user)) return false;
  const host = authority.slice(at + 1);
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]");
    return end > 0 && /^(:\d*)?$/.test(host.slice(end + 1));
  }
  const colon = host.lastIndexOf(":");
  if (colon >= 0 && !/^:\d*$/.test(host.slice(colon))) return false;
  // Escapes of ASCII are not allowed in a host, but for those of percent signs and of what is beyond ASCII.
  return /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]|[\u0080-\uffff]|%(?:25|[89A-Fa-f][0-9A-Fa-f]))*$/.test(host);
}
