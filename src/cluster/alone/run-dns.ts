// The cluster's DNS in a process of its own, as a Corefile says.
// Follows CoreDNS: coremain/run.go.
import { existsSync, readFileSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog, type Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { type ChainContext, ChainResolver } from "#dns/chain-resolver.ts";
import { type Corefile, type Directive, durationMs, parseCorefile } from "#dns/corefile.ts";
import { clusterDirectory, type Directory } from "#dns/directory.ts";
import { forwarder } from "#dns/host/forwarder.ts";
import { serveDns } from "#dns/host/server.ts";
import { kubernetesVersion } from "../version.ts";
import { servePaths } from "./serve-paths.ts";

export interface DnsProgramSettings {
  readonly corefile: string;
  /** The port of zones that name none. */
  readonly port: number;
  /** Where the cluster is; in a pod it is found without. */
  readonly kubeconfig: string | undefined;
}

const usual = { health: 8080, ready: 8181, metrics: 9153, reloadMs: 30_000, reloadJitterMs: 15_000 };

/** Returns when the process is told to end, after the time in which clients learn of it. */
export async function runDns(settings: DnsProgramSettings): Promise<void> {
  const clock = systemClock;
  const log = createLog({ clock, write: writeToStderr });
  const stop = new AbortController();
  const program = new DnsProgram(settings, log, (problem) => stop.abort(problem));
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => {
      program.isEnding = true;
      void clock.sleep(program.lameDuckMs, new AbortController().signal).then(() => stop.abort(ended));
    });
  const ended = new Error("told to end");
  try {
    await supervise(await program.components(), stop.signal);
  } finally {
    program.close();
  }
  if (stop.signal.reason !== ended) throw stop.signal.reason;
}

class DnsProgram {
  isEnding = false;
  readonly #settings: DnsProgramSettings;
  readonly #log: Log;
  readonly #fatal: (problem: Error) => void;
  readonly #metrics = new MetricRegistry();
  #text: string;
  #corefile: Corefile;
  #resolvers = new Map<number, ChainResolver>();
  #connection: Connection | undefined;
  #informers: Informers | undefined;
  #directory: Directory | undefined;

  constructor(settings: DnsProgramSettings, log: Log, fatal: (problem: Error) => void) {
    this.#settings = settings;
    this.#log = log;
    this.#fatal = fatal;
    this.#text = readFileSync(settings.corefile, "utf8");
    this.#corefile = this.#parse(this.#text);
  }

  get lameDuckMs(): number {
    const option = this.#directive("health")?.body.find(({ name }) => name === "lameduck");
    return option ? durationMs(option.args[0] ?? "", option.line) : 0;
  }

  async components(): Promise<readonly Component[]> {
    const [clock, random] = [systemClock, systemRandom];
    if (this.#directive("kubernetes")) {
      this.#connection = await connectClient({
        explicit: this.#settings.kubeconfig,
        env: process.env,
        userAgent: `coredns/${kubernetesVersion}`,
        clock,
        signal: new AbortController().signal,
      });
      this.#informers = new Informers({ client: this.#connection.client, clock, random, log: this.#log });
      this.#directory = clusterDirectory(this.#informers, () => undefined);
    }
    this.#resolvers = this.#resolversOf(this.#corefile);
    const ports = [...this.#resolvers.keys()];
    return [
      ...(this.#informers ? [this.#informers] : []),
      ...ports.map((port) => this.#server(port)),
      ...this.#pages(),
      this.#reload(),
    ];
  }

  close(): void {
    this.#connection?.close();
  }

  #parse(text: string): Corefile {
    return parseCorefile(text, { port: this.#settings.port, env: process.env });
  }

  /** The first of that name, whatever block it is in. */
  #directive(name: string): Directive | undefined {
    return this.#corefile.blocks.flatMap(({ directives }) => directives).find((one) => one.name === name);
  }

  #resolversOf(corefile: Corefile): Map<number, ChainResolver> {
    const ports = new Set(corefile.blocks.flatMap(({ zones }) => zones.map(({ port }) => port)));
    return new Map([...ports].map((port) => [port, new ChainResolver(corefile, port, this.#context())]));
  }

  #context(): ChainContext {
    const [clock, random] = [systemClock, systemRandom];
    return {
      directory: () => {
        if (!this.#directory) throw new Error("the plugin kubernetes was added: that takes a restart");
        return this.#directory;
      },
      hasDirectory: () => this.#informers?.hasSynced === true,
      servers: ownServiceAddresses(),
      upstream: (server) => forwarder({ servers: [server], clock, random }),
      readText: (path) => readFileSync(path, "utf8"),
      fatal: this.#fatal,
      clock,
      random,
      log: this.#log,
      metrics: this.#metrics,
    };
  }

  #server(port: number): Component {
    return {
      name: `dns at port ${port}`,
      run: async (signal) => {
        const resolver = {
          answer: (...query: Parameters<ChainResolver["answer"]>) => this.#resolvers.get(port)?.answer(...query),
        };
        const server = await serveDns({ resolver, address: anyAddress(), port, log: this.#log });
        this.#log.info("answering queries", { port });
        this.#resolvers.get(port)?.started();
        await aborted(signal);
        await server.close();
      },
    };
  }

  #pages(): readonly Component[] {
    const answer = (code: number, body: string) => ({ code, headers: { "content-type": "text/plain" }, body });
    const isReady = () => !this.isEnding && (this.#informers?.hasSynced ?? true);
    const pages = [
      {
        name: "health",
        port: usual.health,
        path: "/health",
        page: () => (this.isEnding ? answer(503, "ending") : answer(200, "OK")),
      },
      {
        name: "ready",
        port: usual.ready,
        path: "/ready",
        page: () => (isReady() ? answer(200, "OK") : answer(503, "kubernetes")),
      },
      {
        name: "prometheus",
        port: usual.metrics,
        path: "/metrics",
        page: async () => answer(200, await this.#metrics.text()),
      },
    ];
    return pages.flatMap(({ name, port, path, page }) => {
      const directive = this.#directive(name);
      if (!directive) return [];
      const [, host = "", own] = /^(.*):(\d+)$/.exec(directive.args[0] ?? "") ?? [];
      return [
        servePaths(
          name,
          { host: host || anyAddress(), port: own === undefined ? port : Number(own) },
          { [path]: page },
        ),
      ];
    });
  }

  /** Looks at the Corefile now and then. One that is wrong changes nothing. */
  #reload(): Component {
    return {
      name: "reload",
      run: async (signal) => {
        while (!signal.aborted) {
          const { args, line = 0 } = this.#directive("reload") ?? { args: ["off"] };
          const isOff = args[0] === "off";
          const everyMs = isOff || args[0] === undefined ? usual.reloadMs : durationMs(args[0], line);
          const jitterMs =
            args[1] === undefined ? Math.min(usual.reloadJitterMs, everyMs / 2) : durationMs(args[1], line);
          await systemClock.sleep(everyMs + systemRandom.next() * jitterMs, signal);
          if (!isOff) this.#readAgain();
        }
      },
    };
  }

  #readAgain(): void {
    try {
      const text = readFileSync(this.#settings.corefile, "utf8");
      if (text === this.#text) return;
      this.#text = text; // a wrong one is told once
      const corefile = this.#parse(text);
      const resolvers = this.#resolversOf(corefile);
      if ([...resolvers.keys()].toSorted().join() !== [...this.#resolvers.keys()].toSorted().join())
        throw new Error("the ports have changed: that takes a restart");
      this.#corefile = corefile;
      this.#resolvers = resolvers;
      this.#log.info("the Corefile was read again");
    } catch (error) {
      this.#log.error("the Corefile has changed and cannot be used; going on with the last one", {
        error: explain(error),
      });
    }
  }
}

/** Both families where the kernel has both. */
const anyAddress = (): string => (existsSync("/proc/net/if_inet6") ? "::" : "0.0.0.0");

/** Where pods reach this DNS, as their environment says. */
const ownServiceAddresses = (): readonly string[] => {
  const address = process.env.KUBE_DNS_SERVICE_HOST;
  return address === undefined ? [] : [address];
};
