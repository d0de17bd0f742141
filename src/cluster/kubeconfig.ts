import { clientKey } from "./certificate-maker.ts";
import type { KeyPair } from "./certificates.ts";

/** A kubeconfig with one cluster, one user and one context, all of one name. JSON, which every YAML reader takes. */
export function kubeconfig(name: string, server: string, authority: string, client: KeyPair): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server, "certificate-authority-data": base64(authority) } }],
    users: [
      {
        name,
        user: { "client-certificate-data": base64(client.cert), "client-key-data": base64(clientKey(client.key)) },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    "current-context": name,
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
