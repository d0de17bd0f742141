// From a configuration to a client.
import { isObject } from "#base/is-object.ts";
import { trustAsGo } from "#wire/host/trust.ts";
import type { ClientConfig } from "../client-config.ts";
import { KubectlError } from "../errors.ts";
import { type Session, userAgent } from "../session.ts";
import { RestClient } from "./client.ts";
import { type CredentialIssuer, impersonationHeaders, pem, staticCredentials } from "./credentials.ts";
import { RequestLog } from "./request-log.ts";
import { RestTransport } from "./transport.ts";
import { proxyFor } from "./tunnel.ts";

export async function connect(session: Session, config: ClientConfig): Promise<RestClient> {
  const { io, globals } = session;
  const { cluster, user } = config;
  const server = addressOf(config.server);
  const { cert, key, authorization } = staticCredentials(user);
  const hasOwn = authorization !== undefined || cert !== undefined;
  const credentials = hasOwn ? undefined : await credentialSource(session, config);
  const isInsecure = cluster["insecure-skip-tls-verify"] === true;
  const ca = isInsecure ? undefined : pem(cluster, "certificate-authority");
  const serverName = cluster["tls-server-name"];
  const transport = new RestTransport({
    server,
    tls: {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(serverName && { servername: serverName }),
      rejectUnauthorized: !isInsecure,
      ...trustAsGo,
    },
    headers: {
      "user-agent": userAgent,
      "kubectl-command": session.commandPath,
      "kubectl-session": io.random.uuid(),
      ...(authorization !== undefined && { authorization }),
      ...impersonationHeaders(user),
    },
    proxy: proxyFor(server, cluster["proxy-url"], io.env),
    compress: !globals["disable-compression"] && cluster["disable-compression"] !== true,
  });
  return new RestClient({
    transport,
    log: new RequestLog(globals.v, io.clock, (line) => io.stderr.write(line)),
    clock: io.clock,
    signal: io.signal,
    timeoutMs: session.requestTimeoutMs,
    warn: (text) => session.warn(text),
    ...(credentials && { credentials }),
  });
}

/** Where the kubeconfig names someone who gives credentials out. Loaded when needed: few do. */
async function credentialSource(session: Session, config: ClientConfig): Promise<CredentialIssuer | undefined> {
  const { user, cluster, server } = config;
  const { io, pluginPolicy: policy } = session;
  if (isObject(user.exec)) {
    const { execCredentials } = await import("./exec-credentials.ts");
    return execCredentials({ exec: user.exec, server, cluster, io, policy });
  }
  const provider = user["auth-provider"];
  if (!isObject(provider)) return undefined;
  if (provider.name !== "oidc")
    throw new KubectlError(`no Auth Provider found for name ${JSON.stringify(provider.name ?? "")}`);
  const { oidcCredentials } = await import("./oidc-credentials.ts");
  return oidcCredentials(isObject(provider.config) ? provider.config : {}, io, async (changed) => {
    const { writeEntry } = await import("../commands/config/config-files.ts");
    const { userName } = config;
    if (userName !== "")
      await writeEntry(session, "users", userName, { ...user, "auth-provider": { ...provider, config: changed } });
  });
}

function addressOf(server: string): URL {
  try {
    return new URL(server);
  } catch (cause) {
    throw new KubectlError(`invalid server address ${JSON.stringify(server)}`, { cause });
  }
}
