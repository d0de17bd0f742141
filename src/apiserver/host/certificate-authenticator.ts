import { X509Certificate } from "node:crypto";
import type { Authenticator } from "../authentication/authenticator.ts";

/** A client certificate names the user in its CN and the groups in its Os. The TLS layer has checked who signed it. */
export const certificateAuthenticator: Authenticator = async ({ clientCertificate }) => {
  if (!clientCertificate) return undefined;
  const lines = new X509Certificate(clientCertificate).subject.split("\n");
  const values = (name: string) =>
    lines.filter((line) => line.startsWith(`${name}=`)).map((line) => line.slice(name.length + 1));
  const [name] = values("CN");
  return name === undefined ? undefined : { name, groups: values("O") };
};
