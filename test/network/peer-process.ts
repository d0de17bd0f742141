// Runs inside a network namespace: tells whoever connects who they reached and where they come from, and asks where it is told to. At
// the next port it says back what it hears, for connections that stay open.
import { connect, createServer, type Socket } from "node:net";

const [name, port] = process.argv.slice(2);

createServer((socket) => {
  socket.on("error", () => undefined);
  socket.end(`${name} ${socket.remoteAddress?.replace("::ffff:", "")}`);
}).listen(Number(port), "0.0.0.0", () => process.send?.("ready"));

createServer((socket) => {
  socket.on("error", () => undefined);
  socket.pipe(socket);
}).listen(Number(port) + 1, "0.0.0.0");

interface Question {
  readonly id: number;
  readonly to: string;
  readonly port: number;
  /** Opens a connection that stays, or counts those that still answer. */
  readonly act?: "hold" | "poke";
}

const held: Socket[] = [];

/** Whether somebody at the other end says it back. */
function isAnswered(socket: Socket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), 3_000);
  socket.once("data", () => resolve(true));
  socket.once("close", () => resolve(false));
  socket.write("hello");
  return promise.finally(() => clearTimeout(timer));
}

async function keep({ id, to, port: at, act }: Question): Promise<void> {
  if (act === "hold") {
    const socket = connect({ host: to, port: at });
    socket.on("error", () => undefined);
    held.push(socket);
  }
  const answers = await Promise.all((act === "hold" ? held.slice(-1) : held).map(isAnswered));
  process.send?.({ id, answer: String(answers.filter((isFine) => isFine).length) });
}

process.on("message", (question: Question) => {
  const { id, to, port: at, act } = question;
  if (act !== undefined) return void keep(question);
  const socket = connect({ host: to, port: at });
  let answer = "";
  const done = (said: string) => process.send?.({ id, answer: said });
  socket.setTimeout(1_000, () => socket.destroy(Object.assign(new Error("silence"), { code: "timeout" })));
  socket.on("data", (bytes) => {
    answer += bytes;
  });
  socket.on("error", ({ code }: NodeJS.ErrnoException) => {
    answer = code ?? "error";
  });
  socket.on("close", () => done(answer));
});
process.on("disconnect", () => process.exit());
