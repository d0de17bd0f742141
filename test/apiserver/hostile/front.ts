// An API server in memory behind a real HTTPS front with limits that a test can reach.
import { mkdtempSync, rmSync } from "node:fs";
import { type ClientHttp2Session, connect } from "node:http2";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import type { FrontLimits } from "#serving/host/https/limits.ts";

export interface Front extends AsyncDisposable {
  readonly port: number;
  readonly url: string;
  readonly ca: string;
  /** How many requests got through to the API server. */
  readonly requests: () => number;
}

export async function startFront(limits: Partial<FrontLimits> = {}): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), "front-"));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const server = await testServer();
  let requests = 0;
  const front = httpsFront({
    ...serving,
    clientCa: undefined,
    log: silentLog,
    limits,
    handler: (request) => {
      requests++;
      return server.server.handle(request);
    },
  });
  const port = await front.listen(0, "127.0.0.1");
  return {
    port,
    ca,
    url: `https://127.0.0.1:${port}`,
    requests: () => requests,
    async [Symbol.asyncDispose]() {
      await front.close(100);
      await server[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface Answer {
  readonly code: number;
  readonly text: string;
}

/** A whole request over a session of one's own, as any other client would make it. */
export async function ask({ url, ca }: Front, path = "/version"): Promise<Answer> {
  const session = connect(url, { ca });
  try {
    return await askOn(session, path);
  } finally {
    session.destroy();
  }
}

export function askOn(session: ClientHttp2Session, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path });
    let code = 0;
    let text = "";
    stream.on("response", (head) => {
      code = Number(head[":status"]);
    });
    stream.setEncoding("utf8").on("data", (part) => {
      text += part;
    });
    stream.once("end", () => resolve({ code, text }));
    stream.once("error", reject);
  });
}

/** However it comes about: `once` would reject for an error before. */
export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.once("close", () => resolve());
  });
