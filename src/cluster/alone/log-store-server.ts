// The port of the log store: who it is, whom it believes, and how others learn of that.
import { join } from "node:path";
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { type LineStore, logApi, logsApiService } from "#logging/store/api.ts";
import { parseJson } from "#schema/json.ts";
import { delegation } from "#serving/delegated-access.ts";
import { type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import type { RequestHeaderTrust } from "#serving/request-headers.ts";
import { Certificates, type KeyPair } from "../certificates.ts";
import { trusting } from "../front-proxy.ts";
import { anyAddress } from "./log-pages.ts";

export interface StoreServerSettings {
  /** Where it keeps its authority, beside the lines. */
  readonly data: string;
  /** The name by which it is reached. */
  readonly host: string;
  readonly port: number;
}

const lookMs = 60_000;
const retryMs = 1000;
/** A batch of a collector at its largest, with all of it escaped. */
const bodyBytes = 8 * 1024 * 1024;
const closeMs = 2000;
/** What the API server tells aggregated servers. */
const trustConfigMap = { namespace: "kube-system", name: "extension-apiserver-authentication" };

interface StoreServerOptions {
  readonly settings: StoreServerSettings;
  readonly client: Client;
  readonly store: LineStore;
  readonly metrics: MetricRegistry;
  readonly clock: Clock;
  readonly log: Log;
}

/** HTTPS for the API server, which says in headers who asks, and for collectors, which show tokens. */
export class LogStoreServer implements Component {
  readonly name = "https";
  isServing = false;
  readonly #options: StoreServerOptions;

  constructor(options: StoreServerOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { settings, client, store, metrics, clock, log } = this.#options;
    let access = delegation({ client, authenticators: [], clock, log });
    const failed = (error: unknown) => log.error("a request failed", { error });
    const handler = logApi({ store, access: () => access, metrics, failed });
    let front: HttpsFront | undefined;
    let known = "";
    try {
      for (; ; await clock.sleep(front ? lookMs : retryMs, signal)) {
        const found = await this.#found(signal);
        const text = JSON.stringify(found);
        if (!found || text === known) continue;
        const { authenticators, otherClientCas } = trusting(found.trust);
        access = delegation({ client, authenticators, clock, log });
        const certificates = { ...found.pair, clientCa: undefined, otherClientCas };
        if (front) front.renew(certificates);
        else {
          front = httpsFront({ ...certificates, handler, log, limits: { bodyBytes } });
          await front.listen(settings.port, anyAddress());
          log.info("serving", { port: settings.port });
        }
        this.isServing = true;
        known = text;
      }
    } finally {
      await front?.close(closeMs);
    }
  }

  /** Who we are, and whom we believe; undefined if that cannot be told now. */
  async #found(
    signal: AbortSignal,
  ): Promise<{ readonly pair: KeyPair; readonly trust: RequestHeaderTrust | undefined } | undefined> {
    const { client, log } = this.#options;
    try {
      const { authority, pair } = this.#certificates();
      const trust = await trustOf(client);
      await publish(client, authority.cert);
      return { pair, trust };
    } catch (error) {
      signal.throwIfAborted();
      log.error("what is needed to serve cannot be had; trying again", { error: explain(error) });
      return undefined;
    }
  }

  /** An authority of its own: the store asks nobody to sign for it. */
  #certificates(): { readonly authority: KeyPair; readonly pair: KeyPair } {
    const { settings, clock } = this.#options;
    const certificates = new Certificates(join(settings.data, "pki"), clock, "log-store-ca");
    const pair = certificates.issue("log-store", { commonName: settings.host, hosts: [settings.host] });
    return { authority: certificates.authority(), pair };
  }
}

/** Tells the API server and the collectors by which authority the store is known. */
async function publish(client: Client, authority: string): Promise<void> {
  const caBundle = Buffer.from(authority).toString("base64");
  const place = { name: logsApiService };
  const { spec } = await client.get(APIService, place);
  if (spec.caBundle !== caBundle) await client.patch(APIService, place, "merge", { spec: { caBundle } });
}

/** Whose word is taken for who asks; nobody's if the API server tells of no proxy. */
async function trustOf(client: Client): Promise<RequestHeaderTrust | undefined> {
  const { data = {} } = await client.get(ConfigMap, trustConfigMap);
  const clientCa = data["requestheader-client-ca-file"];
  if (clientCa === undefined) return undefined;
  const list = (name: string): readonly string[] => {
    const value = parseJson(data[`requestheader-${name}`] ?? "[]").value;
    return Array.isArray(value) ? value.map(String) : [];
  };
  return {
    clientCa,
    names: {
      username: list("username-headers"),
      uid: list("uid-headers"),
      group: list("group-headers"),
      extraPrefixes: list("extra-headers-prefix"),
    },
    allowedNames: list("allowed-names"),
  };
}
