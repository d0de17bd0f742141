// Where the API of a cluster on this machine is served: for people on loopback, for nodes and pods on the bridge they are on.
import { hostname } from "node:os";
import type { AdvertisedAddress } from "#apiserver/bootstrap/system-objects.ts";
import { unknownMethod } from "#apiserver/response/respond.ts";
import type { Log } from "#base/log.ts";
import { type FrontCertificates, type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import type { HttpHandler } from "#wire/http.ts";
import type { Front } from "../cluster.ts";
import type { ControlPlaneCertificates } from "../control-plane-certificates.ts";
import { ownFrontProxy, trusting } from "../front-proxy.ts";
import type { LiveCertificates } from "../live-certificates.ts";
import type { Settings } from "./settings.ts";

/** Where API servers usually listen. */
export const apiPort = 6443;
const closeMs = 2000;

export interface FrontOptions {
  readonly settings: Settings;
  readonly certificates: LiveCertificates<ControlPlaneCertificates>;
  readonly log: Log;
  /** An address of this machine that only nodes see, and when it is there. */
  readonly inside?: { readonly address: string; readonly isThere: Promise<void> } | undefined;
}

const shownBy = ({ server, authority, frontProxy }: ControlPlaneCertificates): FrontCertificates => ({
  ...server,
  clientCa: authority.cert,
  otherClientCas: trusting(ownFrontProxy(frontProxy).trust).otherClientCas,
});

/** What others are told of this server, as of whenever they are told. */
const advertised = (certificates: FrontOptions["certificates"], place: AdvertisedAddress): AdvertisedAddress => ({
  ...place,
  hostname: hostname(),
  get clientCa() {
    return certificates.current.authority.cert;
  },
  get requestHeaders() {
    return ownFrontProxy(certificates.current.frontProxy).trust;
  },
});

interface LocalFront extends Front {
  readonly url: string;
}

/** Listens where it did before; for the first time where API servers usually do, or, if that is taken, anywhere. */
export function localFront(
  { settings, certificates, log: whole, inside }: FrontOptions,
  opened: (port: number) => AdvertisedAddress,
): LocalFront {
  const log = whole.with({ component: "apiserver" });
  const fronts: HttpsFront[] = [];
  certificates.subscribe((now) => {
    for (const front of fronts) front.renew(shownBy(now));
  });
  let url = "";
  let isClosed = false;
  const listen = async (handler: HttpHandler, port: number, address = settings["bind-address"]): Promise<number> => {
    const front = httpsFront({ ...shownBy(certificates.current), handler, unknownMethod: unknownMethod(), log });
    const taken = await front.listen(port, address);
    fronts.push(front);
    return taken;
  };
  const listenInside = async (handler: HttpHandler, port: number): Promise<void> => {
    if (!inside || isEverywhere(settings["bind-address"])) return;
    await inside.isThere;
    if (isClosed) return;
    try {
      await listen(handler, port, inside.address);
    } catch (error) {
      log.error("pods cannot reach the API", { address: inside.address, port, error });
    }
  };
  return {
    get url() {
      return url;
    },
    async open(handler) {
      const asked = settings.port ?? apiPort;
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
      // Nobody waits for it: there are no pods yet. If its address does not come to be, the cluster ends anyway.
      listenInside(handler, port).catch(() => undefined);
      return advertised(certificates, opened(port));
    },
    async close() {
      isClosed = true;
      await Promise.all(fronts.map((front) => front.close(closeMs)));
    },
  };
}

export function urlOf(settings: Settings, port: number): string {
  const address = settings["bind-address"];
  const host = isEverywhere(address) ? "127.0.0.1" : address;
  return `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

const isEverywhere = (address: string): boolean => address === "0.0.0.0" || address === "::";
