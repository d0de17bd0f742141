// The cluster's DNS over a socket, against a bare UDP echo in Node, each in a process of its own and asked in turn.
import { fork } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { encode } from "dns-packet";
import { median, type Report } from "./figure.ts";

const rounds = 7;
const roundMs = 700;
const inFlight = 64;

export async function run(report: Report): Promise<void> {
  const servers = { dns: await start("dns"), echo: await start("echo") };
  const costs = { dns: [] as number[], echo: [] as number[] };
  const rates = { dns: [] as number[], echo: [] as number[] };
  for (let round = -1; round < rounds; round++)
    for (const name of ["echo", "dns"] as const) {
      await servers[name].cpuMs();
      const answers = await ask(servers[name].port);
      const cpuMs = await servers[name].cpuMs();
      if (round < 0) continue;
      costs[name].push((cpuMs * 1000) / answers);
      rates[name].push(answers / (roundMs / 1000));
    }
  for (const server of Object.values(servers)) server.stop();
  for (const name of ["echo", "dns"] as const) {
    report({ name: `${name}: answers`, value: median(rates[name]), unit: "1/s" });
    report({ name: `${name}: CPU`, value: median(costs[name]), unit: "µs/answer" });
  }
  report({
    name: "dns against a bare UDP echo, by CPU",
    value: median(costs.echo) / median(costs.dns),
    unit: "×",
    goal: { atLeast: 0.5 },
  });
}

async function start(what: "dns" | "echo") {
  const child = fork(fileURLToPath(new URL("./dns/server.ts", import.meta.url)), [what]);
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    port,
    async cpuMs(): Promise<number> {
      const answer = once(child, "message");
      child.send("cpu");
      return (await answer)[0] as number;
    },
    stop: () => child.disconnect(),
  };
}

/** Keeps some questions in flight, and counts the answers. */
async function ask(port: number): Promise<number> {
  const names = Array.from({ length: 200 }, (_, i) => `web-${i}.default.svc.cluster.local`);
  const questions = names.map((name, i) =>
    encode({ type: "query", id: i, flags: 0x100, questions: [{ type: "A", name }] }),
  );
  const socket = createSocket("udp4");
  let answers = 0;
  const next = () => socket.send(questions[answers % questions.length] as Buffer, port, "127.0.0.1");
  socket.on("message", () => {
    answers++;
    next();
  });
  for (let i = 0; i < inFlight; i++) next();
  await new Promise((resolve) => setTimeout(resolve, roundMs));
  socket.close();
  return answers;
}
