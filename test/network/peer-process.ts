// Runs inside a network namespace: tells whoever connects who they reached and where they come from, and asks where it is told to.
import { connect, createServer } from "node:net";

const [name, port] = process.argv.slice(2);

createServer((socket) => {
  socket.on("error", () => undefined);
  socket.end(`${name} ${socket.remoteAddress?.replace("::ffff:", "")}`);
}).listen(Number(port), "0.0.0.0", () => process.send?.("ready"));

interface Question {
  readonly id: number;
  readonly to: string;
  readonly port: number;
}

process.on("message", ({ id, to, port: at }: Question) => {
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
