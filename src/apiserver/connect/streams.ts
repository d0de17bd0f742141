// exec, attach and port-forward. A kubelet that understands WebSockets gets what the client sent, byte by byte, and so does
// every kubelet that is spoken to in SPDY. For the others the two newest WebSocket protocols are turned into SPDY here, as
// upstream does until ExtendWebSocketsToKubelet is everywhere.
import { textOf } from "#serving/proxy/body.ts";
import { passedOn } from "#serving/proxy/headers.ts";
import { type OutgoingRequest, unreachable } from "#serving/proxy/outgoing.ts";
import type { HttpResponse } from "#wire/http.ts";
import { badRequest } from "#wire/status.ts";
import { byteStreamPair } from "#wire/streams/byte-stream.ts";
import { isTunnelRequest, tunnelledProtocols, tunnelPrefix } from "#wire/streams/port-forward.ts";
import { type RemoteCommandOptions, serveRemoteCommand } from "#wire/streams/remote-command.ts";
import { runOverSpdy } from "#wire/streams/remote-command-client.ts";
import { SpdyConnection } from "#wire/streams/spdy.ts";
import {
  acceptWebSocket,
  isUpgradeRequest,
  isWebSocketRequest,
  offeredProtocols,
  webSocketTunnel,
} from "#wire/streams/websocket.ts";
import type { ConnectCall, Connector } from "./connect.ts";
import { containerOf, type KubeletLocation, kubeletOf } from "./location.ts";
import { flag, ports } from "./query.ts";

const upgradeMethods = ["GET", "POST"];

const remoteCommand = (path: "exec" | "attach"): Connector => ({
  methods: upgradeMethods,
  needsCreate: () => true,
  options: {
    kind: path === "exec" ? "PodExecOptions" : "PodAttachOptions",
    of: ({ http: { query } }) => ({
      ...streamsWanted(query),
      container: query.get("container") ?? "",
      ...(path === "exec" && { command: query.getAll("command") }),
    }),
  },
  async connect(call) {
    const { http, name, namespace } = call;
    const { query } = http;
    const options = streamsWanted(query);
    const pod = await call.read("pods", name);
    const container = containerOf(pod, query.get("container") ?? "");
    const kubelet = await kubeletOf(call, nodeOf(pod.spec.nodeName, name));
    const command = path === "exec" ? query.getAll("command") : [];
    const params = new URLSearchParams([
      ...command.map((word) => ["command", word]),
      ...(options.stderr ? [["error", "1"]] : []),
      ...(options.stdin ? [["input", "1"]] : []),
      ...(options.stdout ? [["output", "1"]] : []),
      ...(options.tty ? [["tty", "1"]] : []),
    ]);
    const url = `/${[path, namespace, name, container].map(encodeURIComponent).join("/")}?${params}`;
    const translates =
      isWebSocketRequest(http) &&
      offeredProtocols(http.headers).includes("v5.channel.k8s.io") &&
      !kubelet.speaksWebSocket;
    return translates ? overSpdy(call, kubelet, url, options) : ask(call, kubelet, url);
  },
});

/** Serves a WebSocket by a command that runs over SPDY. */
const overSpdy = (
  call: ConnectCall,
  kubelet: KubeletLocation,
  url: string,
  options: RemoteCommandOptions,
): Promise<HttpResponse> =>
  serveRemoteCommand(call.http, {
    streams: { ...options, stderr: options.stderr && !options.tty },
    compression: call.connection.spdyCompression,
    clock: call.clock,
    webSocketProtocols: ["v5.channel.k8s.io"],
    async run(streams, signal) {
      const headers = { ...spdyHeaders, "x-stream-protocol-version": "v4.channel.k8s.io" };
      const response = await ask(call, kubelet, url, { method: "POST", headers, signal });
      if (!response.upgraded) throw new Error(`unable to upgrade connection: ${await textOf(response.body)}`);
      const [near, far] = byteStreamPair();
      const proxying = response.upgraded(far);
      const spdy = new SpdyConnection({
        connection: near,
        role: "client",
        cancelEnds: true,
        compression: call.connection.spdyCompression(),
      });
      signal.addEventListener("abort", () => near.destroy(signal.reason), { once: true });
      const over = Promise.allSettled([spdy.run(), proxying]);
      try {
        return await runOverSpdy(spdy, options, streams);
      } finally {
        near.destroy();
        await over;
      }
    },
  });

export const exec = remoteCommand("exec");
export const attach = remoteCommand("attach");

export const portForward: Connector = {
  methods: upgradeMethods,
  needsCreate: () => true,
  options: { kind: "PodPortForwardOptions", of: ({ http }) => ({ ports: ports(http.query, "ports") }) },
  async connect(call) {
    const { http, name, namespace } = call;
    const wanted = ports(http.query, "ports");
    const pod = await call.read("pods", name);
    const kubelet = await kubeletOf(call, nodeOf(pod.spec.nodeName, name));
    const search = wanted.length === 0 ? "" : `?port=${encodeURIComponent(wanted.join(","))}`;
    const url = `/${["portForward", namespace, name].map(encodeURIComponent).join("/")}${search}`;
    if (!isTunnelRequest(http) || kubelet.speaksWebSocket) return ask(call, kubelet, url);
    const headers = { ...spdyHeaders, "x-stream-protocol-version": tunnelledProtocols(http.headers).join(", ") };
    const response = await ask(call, kubelet, url, { method: "POST", headers });
    const { upgraded } = response;
    if (!upgraded) return response;
    const chosen = response.headers?.["x-stream-protocol-version"];
    const answer = await acceptWebSocket(http.headers, {
      protocols: [`${tunnelPrefix}${chosen}`],
      serve: (socket) => upgraded(webSocketTunnel(socket)),
    });
    if (!answer.upgraded) await hangUp(upgraded);
    return answer;
  },
};

const streamsWanted = (query: URLSearchParams): RemoteCommandOptions => ({
  stdin: flag(query, "stdin"),
  stdout: flag(query, "stdout"),
  stderr: flag(query, "stderr"),
  tty: flag(query, "tty"),
});

const spdyHeaders = { connection: "Upgrade", upgrade: "SPDY/3.1" };

function nodeOf(node: string | undefined, pod: string): string {
  if (!node) throw badRequest(`pod ${pod} does not have a host assigned`);
  return node;
}

/** The kubelet has upgraded, but the client cannot: its connection must not stay open. */
async function hangUp(upgraded: NonNullable<HttpResponse["upgraded"]>): Promise<void> {
  const [near, far] = byteStreamPair();
  near.destroy();
  await upgraded(far).catch(() => undefined); // that it was dropped is what was wanted
}

/** Passes the request on to the kubelet, which upgrades or says why not. */
async function ask(
  { http, connection }: ConnectCall,
  kubelet: KubeletLocation,
  url: string,
  changes: Partial<OutgoingRequest> = {},
): Promise<HttpResponse> {
  if (!isUpgradeRequest(http)) throw badRequest("Upgrade request required");
  const { method, signal } = http;
  try {
    const response = await connection.kubelet(kubelet, {
      method,
      url,
      signal,
      headers: passedOn(http, { upgrades: true }),
      ...changes,
    });
    if (response.code !== 101 && response.code < 400) {
      await textOf(response.body);
      throw new Error(`invalid upgrade response: status code ${response.code}`);
    }
    return response;
  } catch (error) {
    throw unreachable(error, 500, "error dialing backend");
  }
}
