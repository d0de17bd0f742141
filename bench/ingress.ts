// The ingress controller's HAProxy with 10,000 routes against a plain nginx as a reverse proxy to the same server, by the processor time of a
// request; and how soon a change of endpoints is live. Needs nginx, and HAProxy or Debian's package of it.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { emptyProxyState, ingressCertificates, type ProxyState } from "#ingress/proxy-state.ts";
import type { RouteOptions } from "#ingress/route-options.ts";
import { findHaproxy, freePort, ProxyUnderTest } from "../test/ingress/proxy.ts";
import { median, type Report } from "./figure.ts";

const rounds = 7;
const roundMs = 700;
const connections = 32;
const routes = 10_000;
const services = 1000;
const changes = 30;
const { signal } = new AbortController();
const options: RouteOptions = { sslRedirect: false, protocol: "HTTP" };
const nginx = "/usr/sbin/nginx";
/** Of Linux, in which processes count their time. */
const ticksPerSecond = 100;

export async function run(report: Report): Promise<void> {
  const { program, missing } = await findHaproxy();
  if (program === undefined || !existsSync(nginx)) throw new Error(missing || `${nginx} is not installed`);
  await using servers = await startNginx();
  await using proxy = await ProxyUnderTest.make(program);
  await proxy.haproxy.become(stateWith(servers.backend), signal);
  const contenders = {
    nginx: { port: servers.proxyPort, pid: servers.proxyPid },
    ingress: { port: proxy.httpPort, pid: proxy.haproxy.pid ?? 0 },
  };
  const costs = { nginx: [] as number[], ingress: [] as number[] };
  const rates = { nginx: [] as number[], ingress: [] as number[] };
  for (let round = -1; round < rounds; round++)
    for (const name of ["nginx", "ingress"] as const) {
      const { port, pid } = contenders[name];
      const before = cpuMs(pid);
      const answers = await load(port);
      if (round < 0) continue;
      costs[name].push(((cpuMs(pid) - before) * 1000) / answers);
      rates[name].push(answers / (roundMs / 1000));
    }
  for (const name of ["nginx", "ingress"] as const) {
    report({ name: `${name}: requests`, value: median(rates[name]), unit: "1/s" });
    report({ name: `${name}: CPU`, value: median(costs[name]), unit: "µs/request" });
  }
  const ratio = median(costs.nginx) / median(costs.ingress);
  report({ name: "ingress against plain nginx, by CPU", value: ratio, unit: "×", goal: { atLeast: 0.9 } });
  const times: number[] = [];
  for (let i = 0; i < changes; i++) {
    const state = stateWith(servers.backend, i % 2 === 0 ? ["127.0.0.1:9"] : []);
    const begun = performance.now();
    await proxy.haproxy.become(state, signal);
    times.push(performance.now() - begun);
  }
  const name = `a change of endpoints among ${routes} routes`;
  report({ name, value: median(times), unit: "ms", goal: { atMost: 100 } });
  report({ name: `reloads in ${changes} changes`, value: proxy.haproxy.reloads, unit: "", goal: { atMost: 0 } });
}

/** All routes lead to the same server; the first service has some more. */
function stateWith(backend: string, more: readonly string[] = []): ProxyState {
  const id = (i: number) => `default_service-${i % services}_80_x`;
  const hosts = Array.from({ length: routes }, (_, i) => `host-${i}.test`);
  const server = { weight: 1, protocol: options.protocol };
  return {
    ...emptyProxyState,
    sites: new Set(hosts),
    prefixes: new Map(hosts.map((host, i) => [`${host}/`, id(i)])),
    backends: new Map(
      Array.from({ length: services }, (_, i) => [
        id(i),
        { options, servers: new Map([backend, ...(i === 0 ? more : [])].map((address) => [address, server])) },
      ]),
    ),
    certificateLists: new Map([[ingressCertificates, new Map()]]),
  };
}

/** Answers in a round, one after the other on each connection. */
async function load(port: number): Promise<number> {
  const end = performance.now() + roundMs;
  let answers = 0;
  const lane = async (i: number) => {
    const socket = connect(port, "127.0.0.1");
    const request = `GET /x HTTP/1.1\r\nHost: host-${(i * 311) % routes}.test\r\n\r\n`;
    let text = "";
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part;
      if (!text.endsWith("\r\n\r\nok")) return;
      if (!text.startsWith("HTTP/1.1 200")) socket.destroy(new Error(text.slice(0, 100)));
      text = "";
      answers++;
      if (performance.now() < end) socket.write(request);
      else socket.end();
    });
    socket.write(request);
    await once(socket, "close");
  };
  await Promise.all(Array.from({ length: connections }, (_, i) => lane(i)));
  return answers;
}

async function startNginx() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-nginx-"));
  const [backendPort, proxyPort] = [await freePort(), await freePort()];
  const start = (name: string, server: string) => {
    const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
      (one) => `${one}_temp_path ${folder}/${one};`,
    );
    const common = `daemon off; worker_processes auto; pid ${folder}/${name}.pid; error_log stderr error; events { worker_connections 1024; }`;
    writeFileSync(
      join(folder, name),
      `${common}\nhttp { access_log off; keepalive_requests 10000000; ${temporary.join(" ")}\n${server}\n}\n`,
    );
    return spawn(nginx, ["-p", folder, "-c", join(folder, name)], { stdio: ["ignore", "ignore", "inherit"] });
  };
  const backend = start("backend", `server { listen 127.0.0.1:${backendPort}; location / { return 200 ok; } }`);
  const proxy = start(
    "proxy",
    `upstream pods { server 127.0.0.1:${backendPort}; keepalive 64; keepalive_requests 10000000; }
     server { listen 127.0.0.1:${proxyPort}; location / { proxy_pass http://pods; proxy_http_version 1.1; proxy_set_header Connection "";
       proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
       proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Forwarded-Port $server_port; } }`,
  );
  for (const port of [backendPort, proxyPort]) await listening(port);
  return {
    backend: `127.0.0.1:${backendPort}`,
    proxyPort,
    proxyPid: proxy.pid ?? 0,
    async [Symbol.asyncDispose]() {
      for (const child of [proxy, backend]) {
        child.kill();
        await once(child, "exit");
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listening(port: number): Promise<void> {
  for (let left = 200; left > 0; left--) {
    const socket = connect(port, "127.0.0.1");
    const isThere = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "close").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isThere) return;
    await pause(50);
  }
  throw new Error(`nobody listens at ${port}`);
}

/** Of a process and all that it started. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean);
  const own = ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
  return children.reduce((sum, child) => sum + cpuMs(Number(child)), own);
}
