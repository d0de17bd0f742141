// A backend that takes every byte of a connection literally: it reads one HTTP/1.1 request after the other, strictly by their
// framing, and notes each. Like Go's net/http it answers as soon as it has a head, and reads the rest of a body afterwards.
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";

export interface ReceivedRequest {
  /** Which connection it came on, counted from 1. */
  readonly connection: number;
  /** `POST /path`, or whatever stood in the place of a request line. */
  readonly line: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Whether its body came to its end. */
  readonly isWhole: boolean;
}

export interface LiteralBackend extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Resolves when `count` heads have come. */
  heads(count: number): Promise<void>;
  readonly headCount: number;
}

/** How it answers: the word is looked for in the request line. */
export const behaviours = ["refuse", "accept", "answer-and-close", "close-early", "switch"] as const;
export type Behaviour = (typeof behaviours)[number];

const answers: Readonly<Record<Behaviour, string>> = {
  refuse: "HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno",
  accept: "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
  "answer-and-close": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
  "close-early": "",
  switch: "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: SPDY/3.1\r\n\r\n",
};

export async function literalBackend(tls?: { readonly cert: string; readonly key: string }): Promise<LiteralBackend> {
  const requests: ReceivedRequest[] = [];
  const waiting: { readonly count: number; readonly resolve: () => void }[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let headCount = 0;
  const onHead = () => {
    headCount++;
    for (const { count, resolve } of waiting) if (headCount >= count) resolve();
  };
  const onConnection = (socket: Socket) => {
    sockets.add(socket);
    connections++;
    const connection = connections;
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => socket.destroy());
    void readRequests(socket, connection, onHead, (request) => requests.push(request));
  };
  const server: Server = tls ? createTlsServer({ ...tls }, onConnection) : createServer(onConnection);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get headCount() {
      return headCount;
    },
    heads: (count) =>
      new Promise((resolve) => {
        if (headCount >= count) resolve();
        else waiting.push({ count, resolve });
      }),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readRequests(
  socket: Socket,
  connection: number,
  onHead: () => void,
  note: (request: ReceivedRequest) => void,
): Promise<void> {
  const input = new Input(socket);
  for (;;) {
    const head = await input.through("\r\n\r\n");
    if (head === undefined) {
      if (input.rest !== "") note({ connection, line: input.rest, headers: new Map(), body: "", isWhole: false });
      return;
    }
    const [line = "", ...fields] = head.trimEnd().split("\r\n");
    const headers = new Map(fields.map((field) => splitField(field)));
    onHead();
    const behaviour = behaviours.find((one) => line.includes(one));
    const answer = answers[behaviour ?? "accept"];
    socket.write(line.startsWith("HEAD ") ? answer.slice(0, answer.indexOf("\r\n\r\n") + 4) : answer);
    const body = behaviour === "switch" ? undefined : await readBody(input, headers);
    note({
      connection,
      line: line.replace(/ HTTP\/1\.1$/, ""),
      headers,
      body: body ?? "",
      isWhole: body !== undefined,
    });
    if (body === undefined) return; // it broke off, or what follows is no longer HTTP
    if (behaviour === "close-early") return void socket.destroy();
    if (behaviour === "answer-and-close") return void socket.end();
  }
}

const splitField = (field: string): readonly [string, string] => {
  const colon = field.indexOf(":");
  return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
};

/** The body, or undefined when the connection ended within it. */
async function readBody(input: Input, headers: ReadonlyMap<string, string>): Promise<string | undefined> {
  if (headers.get("transfer-encoding") !== "chunked") return input.take(Number(headers.get("content-length") ?? 0));
  let body = "";
  for (;;) {
    const size = await input.through("\r\n");
    if (size === undefined) return undefined;
    const chunk = await input.take(Number.parseInt(size, 16) + 2);
    if (chunk === undefined) return undefined;
    if (chunk === "\r\n") return body;
    body += chunk.slice(0, -2);
  }
}

class Input {
  rest = "";
  readonly #parts: AsyncIterator<Buffer>;

  constructor(socket: Socket) {
    this.#parts = socket[Symbol.asyncIterator]();
  }

  async through(end: string): Promise<string | undefined> {
    while (!this.rest.includes(end)) if (!(await this.#more())) return undefined;
    return this.take(this.rest.indexOf(end) + end.length);
  }

  async take(size: number): Promise<string | undefined> {
    while (this.rest.length < size) if (!(await this.#more())) return undefined;
    const taken = this.rest.slice(0, size);
    this.rest = this.rest.slice(size);
    return taken;
  }

  async #more(): Promise<boolean> {
    try {
      const { value, done } = await this.#parts.next();
      if (done) return false;
      this.rest += value.toString("latin1");
      return true;
    } catch {
      return false; // the connection broke: what had come by then counts
    }
  }
}
