// From a configuration to a client.
import type { ClientConfig } from "../client-config.ts";
import { KubectlError } from "../errors.ts";
import { type Session, userAgent } from "../session.ts";
import { RestClient } from "./client.ts";
import { credentialsOf, pem } from "./credentials.ts";
import { RequestLog } from "./request-log.ts";
import { RestTransport } from "./transport.ts";
import { proxyFor } from "./tunnel.ts";

export async function connect(session: Session, config: ClientConfig): Promise<RestClient> {
  const { io, globals } = session;
  const { cluster, user } = config;
  const server = addressOf(config.server);
  const { cert, key, authorization, impersonation } = await credentialsOf(user, config.server, io);
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
    },
    headers: {
      "user-agent": userAgent,
      "kubectl-command": session.commandPath,
      "kubectl-session": io.random.uuid(),
      ...(authorization !== undefined && { authorization }),
      ...impersonation,
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
  });
}

function addressOf(server: string): URL {
  try {
    return new URL(server);
  } catch (cause) {
    throw new KubectlError(`invalid server address ${JSON.stringify(server)}`, { cause });
  }
}
