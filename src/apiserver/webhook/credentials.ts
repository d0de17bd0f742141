// Who the server is to a webhook, from a kubeconfig whose users are named after hosts: `svc.ns.svc`, `host:port`, `*.svc`, `*`.
// Follows apiserver/pkg/util/webhook/authentication.go upstream.
import { fromBase64, textToBase64 } from "#base/base64.ts";
import type { Kubeconfig, KubeUser } from "#client/kubeconfig.ts";
import type { CredentialsOf } from "./client.ts";
import type { WebhookCredentials } from "./transport.ts";

/** `read` reads the files that a user names. */
export function credentialsFrom(config: Kubeconfig, read: (path: string) => string): CredentialsOf {
  const users = new Map(config.users.map(({ name, user }) => [name, user]));
  const known = new Map<KubeUser, WebhookCredentials>();
  return (hostAndPort) => {
    const user = userFor(hostAndPort, users) ?? users.get("*") ?? currentUser(config);
    if (!user) return undefined;
    const present = known.get(user) ?? credentialsOfUser(user, read);
    known.set(user, present);
    return present;
  };
}

function userFor(target: string, users: ReadonlyMap<string, KubeUser>): KubeUser | undefined {
  const found = [target, ...starred(target)].map((name) => users.get(name)).find((user) => user !== undefined);
  return found ?? (target.endsWith(":443") ? userFor(target.slice(0, -":443".length), users) : undefined);
}

/** `*.b.c` and `*.c` for `a.b.c`: the longest first. */
function* starred(target: string): Iterable<string> {
  for (let dot = target.indexOf("."); dot >= 0; dot = target.indexOf(".", dot + 1)) yield `*${target.slice(dot)}`;
}

function currentUser({ contexts, users, "current-context": current }: Kubeconfig): KubeUser | undefined {
  const name = contexts.find((one) => one.name === current)?.context.user;
  return users.find((one) => one.name === name)?.user;
}

/** What a user of a kubeconfig shows to a server. */
export function credentialsOfUser(user: KubeUser, read: (path: string) => string): WebhookCredentials {
  const pem = (field: "client-certificate" | "client-key"): string | undefined => {
    const data = user[`${field}-data`];
    if (data) return new TextDecoder().decode(fromBase64(data));
    const path = user[field];
    return path ? read(path) : undefined;
  };
  const [cert, key] = [pem("client-certificate"), pem("client-key")];
  const { token = user.tokenFile && read(user.tokenFile).trim(), username, password = "" } = user;
  const authorization = token
    ? `Bearer ${token}`
    : username
      ? `Basic ${textToBase64(`${username}:${password}`)}`
      : undefined;
  return { ...(cert && { cert }), ...(key && { key }), ...(authorization && { authorization }) };
}
