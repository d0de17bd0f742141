import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";

const answer = "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

/** Tells clients that speak plain HTTP where TLS is expected that they do, in the words of Go's server. */
export function tellPlainClients(server: Http2SecureServer): void {
  /** TLS takes the connection over, and does not give it back when it cannot use it. */
  const connections = new Map<string, Socket>();
  const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  server.on("connection", (socket: Socket) => {
    const key = keyOf(socket);
    connections.set(key, socket);
    socket.once("close", () => connections.delete(key));
  });
  server.on("secureConnection", (socket) => connections.delete(keyOf(socket)));
  server.on("tlsClientError", (error, socket) => {
    if ("code" in error && error.code === "ERR_SSL_HTTP_REQUEST") connections.get(keyOf(socket))?.end(answer);
  });
}
