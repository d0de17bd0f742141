// Runs inside the namespace of a test node: answers on its addresses, and asks where it is told to.
import { createSocket } from "node:dgram";
import { connect, createServer, isIPv6, type Socket } from "node:net";

export interface Question {
  readonly id: number;
  readonly to: string;
  readonly port: number;
  readonly from?: string;
  readonly protocol?: "tcp" | "udp";
  /** How many times to ask, each time from a new socket; answers come joined by commas. */
  readonly times?: number;
  /** `hold` keeps the connection open, `poke` says something on all that are held and tells how many answer. */
  readonly act?: "hold" | "poke";
  /** How long to wait for an answer. */
  readonly waitMs?: number;
}

const patienceMs = 400;
const longPatienceMs = 20_000;

for (const entry of process.argv.slice(2)) {
  const address = entry.split("/")[0] as string;
  createServer((socket) => {
    socket.on("error", () => undefined);
    socket.end(`${address} ${socket.remoteAddress}`);
  }).listen(8080, address);
  // This one goes on answering.
  createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", () => socket.write(`${address}\n`));
  }).listen(8081, address);
  const datagrams = createSocket(isIPv6(address) ? "udp6" : "udp4");
  datagrams.on("message", (_, from) => datagrams.send(`${address} ${from.address}`, from.port, from.address));
  datagrams.bind(8080, address);
}

/** One socket for all datagrams to a place, as a client that goes on asking has. */
const clients = new Map<string, ReturnType<typeof createSocket>>();

function askByUdp({ to, port, waitMs = patienceMs, times }: Question): Promise<string> {
  const key = `${to} ${port}`;
  const kept = times === undefined ? clients.get(key) : undefined;
  const socket = kept ?? createSocket(isIPv6(to) ? "udp6" : "udp4");
  if (times === undefined) clients.set(key, socket);
  const answered = new Promise<string>((resolve) => {
    socket.removeAllListeners();
    const timer = setTimeout(() => resolve("timeout"), waitMs);
    socket.on("message", (answer) => {
      clearTimeout(timer);
      resolve(String(answer));
    });
    const fail = (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      resolve(error.code ?? "error");
    };
    socket.on("error", fail);
    // Only a connected socket is told that nobody listens there.
    if (times === undefined) socket.send("who", port, to);
    else
      socket.connect(port, to, (error?: Error) => {
        if (error) fail(error);
        else socket.send("who");
      });
  });
  return times === undefined ? answered : answered.finally(() => socket.close());
}

function askByTcp({ to, port, from, waitMs = patienceMs }: Question): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: to, port, ...(from && { localAddress: from }) });
    let answer = "";
    socket.setTimeout(waitMs, () => {
      socket.destroy();
      resolve("timeout");
    });
    socket.on("data", (bytes) => {
      answer += bytes;
    });
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    socket.on("close", () => resolve(answer));
  });
}

const held = new Set<Socket>();

function hold({ to, port }: Question): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host: to, port });
    socket.once("data", (bytes) => {
      held.add(socket);
      resolve(String(bytes).trim());
    });
    socket.on("close", () => held.delete(socket));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
    socket.once("connect", () => socket.write("hold\n"));
  });
}

async function poke(): Promise<string> {
  const answers = [...held].map(
    (socket) =>
      new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(false), longPatienceMs);
        const done = (isAlive: boolean) => {
          clearTimeout(timer);
          socket.off("close", lost);
          resolve(isAlive);
        };
        const lost = () => done(false);
        socket.once("close", lost);
        socket.once("data", () => done(true));
        socket.write("poke\n");
      }),
  );
  return String((await Promise.all(answers)).filter(Boolean).length);
}

async function answerTo(question: Question): Promise<string> {
  if (question.act === "hold") return hold(question);
  if (question.act === "poke") return poke();
  const ask = question.protocol === "udp" ? askByUdp : askByTcp;
  if (question.times === undefined) return (await ask(question)).split(" ")[0] ?? "";
  const answers: string[] = [];
  for (let i = 0; i < question.times; i++) {
    const answer = await ask(question);
    answers.push(answer);
    if (answer === "timeout") break; // it would only take longer
  }
  return answers.join(",");
}

process.on("message", async (question: Question) => {
  process.send?.({ id: question.id, answer: await answerTo(question) });
});
process.on("disconnect", () => process.exit());
setTimeout(() => process.send?.("ready"), 100);
