// Stands between a kubectl and a server, and remembers what was asked for. It speaks plain HTTP to the one and TLS to the other.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type Server, type ServerResponse } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import type { AddressInfo } from "node:net";
import type { ComparedServer } from "./real-server.ts";

export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Whether only what has changed was asked for. */
  readonly isConditional: boolean;
}

export class Recorder implements AsyncDisposable {
  readonly #http: Server;
  readonly #agent: Agent;
  readonly #fresh: Agent;
  readonly #target: URL;
  #requests: RecordedRequest[] = [];

  private constructor(server: ComparedServer) {
    this.#target = new URL(server.url);
    const [ca, cert, key] = (["ca.crt", "admin.crt", "admin.key"] as const).map((name) =>
      readFileSync(server.file(name)),
    );
    this.#agent = new Agent({ keepAlive: true, ca, cert, key });
    this.#fresh = new Agent({ keepAlive: false, ca, cert, key });
    this.#http = createServer((asked, answer) => {
      const chunks: Buffer[] = [];
      asked.on("data", (chunk: Buffer) => chunks.push(chunk));
      asked.on("end", () => {
        const body = Buffer.concat(chunks);
        const { method = "", url: path = "", headers: told } = asked;
        const isConditional = told["if-none-match"] !== undefined;
        this.#requests.push({ method, path, body: body.toString("utf8"), isConditional });
        // One line for each value: what is joined by commas means something else to some.
        const { host: _, ...distinct } = asked.headersDistinct;
        const headers = distinct as Record<string, string[]>;
        this.#pass(answer, { method: asked.method, path: asked.url, headers }, body, this.#agent);
      });
    });
    // A client must never use a connection in the moment it is closed for having been idle.
    this.#http.keepAliveTimeout = 0;
  }

  #pass(answer: ServerResponse, asked: RequestOptions, body: Buffer, agent: Agent | false): void {
    const { hostname: host, port } = this.#target;
    const passed = request({ ...asked, host, port, agent: agent || this.#fresh }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      answer.flushHeaders(); // a watch may say nothing for long
      got.pipe(answer);
    });
    // So it is with the server: what came too late for an old connection goes over a new one.
    passed.on("error", () => {
      if (passed.reusedSocket && agent && !answer.headersSent) this.#pass(answer, asked, body, false);
      else answer.destroy();
    });
    answer.on("close", () => passed.destroy());
    passed.end(body);
  }

  static async start(server: ComparedServer): Promise<Recorder> {
    const recorder = new Recorder(server);
    recorder.#http.listen(0, "127.0.0.1");
    await once(recorder.#http, "listening");
    return recorder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** What was asked for since the last time. */
  take(): readonly RecordedRequest[] {
    const taken = this.#requests;
    this.#requests = [];
    return taken;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const agent of [this.#agent, this.#fresh]) agent.destroy();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }
}
