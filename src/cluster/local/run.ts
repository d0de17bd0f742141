// Runs a cluster of this machine in this process, until it is told to end.
import { mkdirSync } from "node:fs";
import { noConnection } from "#apiserver/node-connection.ts";
import { parseAddressRanges, parsePortRange } from "#apiserver/strategies/service/ranges.ts";
import { systemClock } from "#base/clock.ts";
import { lockFolder } from "#base/host/folder-lock.ts";
import type { Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { supervise } from "#base/supervise.ts";
import { type HttpsFront, httpsFront } from "#wire/host/https.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { HttpHandler } from "#wire/http.ts";
import { advertisedAddress } from "../advertised-address.ts";
import { assembleCluster, type Front } from "../cluster.ts";
import type { ControlPlaneCertificates } from "../control-plane-certificates.ts";
import { identityOptions } from "../identity-options.ts";
import { openStore } from "../open-store.ts";
import { certificatesOf } from "./certificates.ts";
import { type Place, processLock } from "./place.ts";
import { type Settings, writeSettings } from "./settings.ts";
import type { Step } from "./steps.ts";

const nodePorts = "30000-32767";
const usualPort = 6443;
const closeMs = 2000;

export interface RunOptions {
  readonly place: Place;
  readonly settings: Settings;
  readonly log: Log;
  readonly onStep: (step: Step) => void;
}

export async function runCluster(options: RunOptions, signal: AbortSignal): Promise<void> {
  const { place } = options;
  mkdirSync(place.folder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(place.folder, processLock, "cluster");
  try {
    await runLocked(options, signal);
  } finally {
    lock.release();
  }
}

async function runLocked({ place, settings, log, onStep }: RunOptions, signal: AbortSignal): Promise<void> {
  const certificates = await certificatesOf(place, settings);
  const { authority } = certificates;
  const network = {
    addresses: parseAddressRanges(settings["service-cluster-ip-range"]),
    nodePorts: parsePortRange(nodePorts),
  };
  const store = await openStore({ ...settings, "data-dir": place.store }, log.with({ component: "store" }));
  try {
    const front = localFront(settings, certificates, log, (port) => {
      writeSettings(place, { ...settings, port });
      certificates.writeKubeconfigs(place.context, urlOf(settings, port));
      return { address: advertisedAddress(network), port };
    });
    const cluster = assembleCluster(
      {
        network,
        rootCa: authority.cert,
        identity: identityOf(place, authority.cert),
        loadBalancerAddresses: settings["load-balancer-range"].split(","),
        nodes: { count: settings.nodes, podRange: settings["cluster-cidr"] },
      },
      // The addresses of simulated nodes may be those of real machines: nothing is ever sent there.
      { clock: systemClock, random: systemRandom, log, store, connection: { ...noConnection, spdyCompression }, front },
    );
    const report = {
      name: "report",
      async run(inner: AbortSignal) {
        await cluster.serving(inner);
        onStep({ is: "serving", url: front.url });
        await cluster.ready(inner);
        onStep({ is: "ready" });
        log.info("ready", { url: front.url, component: "cluster" });
        await new Promise((_, reject) => inner.addEventListener("abort", () => reject(inner.reason), { once: true }));
      },
    };
    await supervise([cluster, report], signal);
  } finally {
    await store.close();
  }
}

interface LocalFront extends Front {
  readonly url: string;
}

/** Listens where it did before; for the first time where API servers usually do, or, if that is taken, anywhere. */
function localFront(
  settings: Settings,
  { server, authority }: ControlPlaneCertificates,
  log: Log,
  opened: (port: number) => Awaited<ReturnType<Front["open"]>>,
): LocalFront {
  let https: HttpsFront | undefined;
  let url = "";
  const listen = async (handler: HttpHandler, port: number): Promise<number> => {
    https = httpsFront({ ...server, clientCa: authority.cert, handler, log: log.with({ component: "apiserver" }) });
    return https.listen(port, settings["bind-address"]);
  };
  return {
    get url() {
      return url;
    },
    async open(handler) {
      const asked = settings.port ?? usualPort;
      let port: number;
      try {
        port = await listen(handler, asked);
      } catch (cause) {
        const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
        if (isTaken && settings.port !== undefined)
          throw new Error(`port ${asked} is taken by another program; free it, or choose another with --port`, {
            cause,
          });
        if (!isTaken) throw cause;
        port = await listen(handler, 0);
      }
      url = urlOf(settings, port);
      return opened(port);
    },
    async close() {
      await https?.close(closeMs);
    },
  };
}

function urlOf(settings: Settings, port: number): string {
  const address = settings["bind-address"];
  const host = address === "0.0.0.0" || address === "::" ? "127.0.0.1" : address;
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const identityOf = (place: Place, clientCa: string) =>
  identityOptions(
    {
      "token-auth-file": undefined,
      "service-account-issuer": [],
      "service-account-signing-key-file": undefined,
      "service-account-key-file": [],
      "service-account-jwks-uri": undefined,
      "service-account-max-token-expiration": undefined,
      "service-account-extend-token-expiration": true,
      "api-audiences": [],
      "cert-dir": place.certificates,
      "data-dir": undefined,
    },
    clientCa,
  );
