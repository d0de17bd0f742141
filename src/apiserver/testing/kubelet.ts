// A kubelet for tests: it really speaks every protocol, and its containers are processes of this machine.
import { spawn } from "node:child_process";
import { connect as connectTcp } from "node:net";
import type { Readable } from "node:stream";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import { socketStream } from "#wire/host/streams/socket-stream.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { relay } from "#wire/streams/byte-stream.ts";
import { type PortForwarder, servePortForward } from "#wire/streams/port-forward.ts";
import {
  exitStatus,
  type RemoteCommand,
  remoteCommandOptions,
  serveRemoteCommand,
} from "#wire/streams/remote-command.ts";
import { isWebSocketRequest, refusal } from "#wire/streams/websocket.ts";

export interface TestKubeletOptions {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string;
  /** Whether it takes WebSockets, as kubelets do from 1.36 on. */
  readonly webSockets: boolean;
}

export interface TestKubelet {
  readonly port: number;
  /** Lines each container has written so far. */
  readonly logs: Map<string, string[]>;
  /** Wakes those who follow logs. */
  wrote(): void;
  /** What was asked, as `POST /exec/…`. */
  readonly requests: string[];
  /** How many processes it runs now. */
  running(): number;
  close(): Promise<void>;
}

export async function startTestKubelet(options: TestKubeletOptions): Promise<TestKubelet> {
  const logs = new Map<string, string[]>();
  const requests: string[] = [];
  let wake: (() => void)[] = [];
  let running = 0;
  const counted =
    (run: RemoteCommand): RemoteCommand =>
    async (...args) => {
      running++;
      try {
        return await run(...args);
      } finally {
        running--;
      }
    };
  const common = { compression: spdyCompression, clock: systemClock };

  const handler = async (request: HttpRequest): Promise<HttpResponse> => {
    requests.push(`${request.method} ${request.path}${isWebSocketRequest(request) ? " websocket" : ""}`);
    const [, what, , pod = "", container = ""] = request.path.split("/");
    if (what !== "pods" && what !== "containerLogs" && isWebSocketRequest(request) && !options.webSockets)
      return refusal(400, "this kubelet takes no WebSockets");
    const streams = remoteCommandOptions(request.query);
    switch (what) {
      case "exec":
        if (typeof streams === "string") return refusal(400, streams);
        return serveRemoteCommand(request, {
          ...common,
          streams,
          run: counted(processOf(request.query.getAll("command"))),
        });
      case "attach":
        if (typeof streams === "string") return refusal(400, streams);
        return serveRemoteCommand(request, {
          ...common,
          streams,
          run: counted(processOf(["sh", "-c", "echo attached; cat"])),
        });
      case "portForward":
        return servePortForward(request, { ...common, pod: `${pod}, uid ${pod}-uid`, forward: toLocalPort });
      case "containerLogs":
        return logOf(request, pod, container);
      default:
        return {
          code: 200,
          headers: { "content-type": "application/json", "access-control-allow-origin": "*" },
          body: JSON.stringify({
            url: request.url,
            method: request.method,
            headers: request.headers,
            body: Buffer.from(await request.body()).toString(),
          }),
        };
    }
  };

  const logOf = ({ query, signal }: HttpRequest, pod: string, container: string): HttpResponse => {
    const lines = logs.get(container);
    if (query.has("previous"))
      return refusal(
        400,
        `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(pod)} not found`,
      );
    if (!lines) return refusal(404, "no such container");
    const tail = query.get("tailLines");
    const from = tail === null ? 0 : Math.max(0, lines.length - Number(tail));
    return {
      code: 200,
      headers: { "content-type": "text/plain" },
      body: (async function* () {
        for (let next = from; ; ) {
          const text = lines.slice(next).map((line) => `${line}\n`);
          next += text.length;
          if (text.length > 0) yield Buffer.from(text.join(""));
          if (!query.has("follow") || signal.aborted) return;
          await new Promise<void>((resolve) => {
            wake.push(resolve);
            signal.addEventListener("abort", () => resolve(), { once: true });
          });
        }
      })(),
    };
  };

  const front: HttpsFront = httpsFront({ ...options, clientCa: options.clientCa, handler, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  return {
    port,
    logs,
    requests,
    running: () => running,
    wrote() {
      const woken = wake;
      wake = [];
      for (const one of woken) one();
    },
    close: () => front.close(1000),
  };
}

/** Runs a command of this machine as if it were in the container. */
const processOf =
  ([file = "", ...args]: readonly string[]): RemoteCommand =>
  async ({ stdin, stdout, stderr }, signal) => {
    const child = spawn(file, args, { signal, stdio: [stdin ? "pipe" : "ignore", "pipe", "pipe"] });
    const ended = new Promise<number>((resolve, reject) => {
      child.once("error", (error) => reject(new Error(`exec ${file}`, { cause: error })));
      child.once("exit", (code) => resolve(code ?? 137));
    });
    const feeding = (async () => {
      if (!stdin || !child.stdin) return;
      child.stdin.on("error", () => undefined); // the process need not read all it is given
      for await (const part of stdin)
        if (!child.stdin.write(part) && !child.stdin.destroyed)
          await new Promise<void>((resolve) => {
            child.stdin?.once("drain", resolve);
            child.stdin?.once("close", resolve);
          });
      child.stdin.end();
    })();
    feeding.catch(() => child.stdin?.destroy());
    const copy = async (from: Readable | null, to: ((bytes: Uint8Array) => Promise<void>) | undefined) => {
      for await (const part of from ?? []) await to?.(part);
    };
    const [code] = await Promise.all([ended, copy(child.stdout, stdout), copy(child.stderr, stderr)]);
    return exitStatus(code);
  };

const toLocalPort: PortForwarder = async (port, stream, signal) => {
  const socket = connectTcp({ port, host: "127.0.0.1", allowHalfOpen: true, signal });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  try {
    await relay(socketStream(socket), stream);
  } finally {
    socket.destroy();
  }
};
