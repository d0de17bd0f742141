// Why a server could not be reached, in the words of Go's network: people and their tools search for them.

const connecting: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  EADDRNOTAVAIL: "connect: cannot assign requested address",
  EACCES: "connect: permission denied",
  ETIMEDOUT: "i/o timeout",
};
const talking: Readonly<Record<string, string>> = {
  ECONNRESET: "read: connection reset by peer",
  EPIPE: "write: broken pipe",
};
const unknownAuthority = "certificate signed by unknown authority";
const certificates: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  CERT_SIGNATURE_FAILURE: unknownAuthority,
  CERT_HAS_EXPIRED: "certificate has expired or is not yet valid",
  CERT_NOT_YET_VALID: "certificate has expired or is not yet valid",
};

/** Other errors keep their own message. */
export function dialWords(error: Error, host: string, port: number): string {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
  if (code in connecting) return `dial tcp ${address}: ${connecting[code]}`;
  if (code === "ENOTFOUND") return `dial tcp: lookup ${host}: no such host`;
  if (error.message === "socket hang up") return "EOF";
  if (code in talking) return talking[code] ?? "";
  if (code in certificates) return `tls: failed to verify certificate: x509: ${certificates[code]}`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return `tls: failed to verify certificate: x509: ${names(error, host)}`;
  return error.message;
}

function names(error: Error, host: string): string {
  const { cert } = error as Error & { readonly cert?: { readonly subjectaltname?: string } };
  const valid = (cert?.subjectaltname ?? "").replace(/(DNS|IP Address):/g, "");
  return valid === ""
    ? `certificate is not valid for any names, but wanted to match ${host}`
    : `certificate is valid for ${valid}, not ${host}`;
}
