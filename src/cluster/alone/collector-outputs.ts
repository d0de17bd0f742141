// Where a collector sends lines, as the settings say now.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import type { Client } from "#client/client.ts";
import { elasticsearchOutput, lokiOutput, storeOutput } from "#logging/host/http-outputs.ts";
import { syslogOutput } from "#logging/host/syslog-output.ts";
import type { LogOutput } from "#logging/output.ts";
import type { LogSettings } from "#logging/settings.ts";
import { linesPath, logsApiService } from "#logging/store/api.ts";

export interface CollectorOutputSettings {
  /** With the files `authorization` and `ca.crt` for outputs outside of the cluster, either of which may be missing. */
  readonly credentials: string;
  /** Address of the store. */
  readonly store: string;
}

const tokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token";

/** Where lines go, made anew when the settings change. */
export class CollectorOutputs {
  readonly #settings: CollectorOutputSettings;
  readonly #client: Client;
  #output: LogOutput | undefined;
  #made: LogSettings["output"] | undefined;

  constructor(settings: CollectorOutputSettings, client: Client) {
    this.#settings = settings;
    this.#client = client;
  }

  current({ output }: LogSettings, epoch: string): LogOutput {
    if (this.#output && this.#made === output) return this.#output;
    this.close();
    this.#made = output;
    this.#output = this.#make(output, epoch);
    return this.#output;
  }

  close(): void {
    this.#output?.close();
    this.#output = undefined;
  }

  #make(output: LogSettings["output"], epoch: string): LogOutput {
    if (output.type === "store") return lazyOutput("store", () => this.#store(epoch));
    const [authorization, ca] = [this.#credential("authorization"), this.#credential("ca.crt")];
    const trust = { ca, ...(authorization !== undefined && { headers: { authorization } }) };
    if (output.type === "loki") return lokiOutput(output, trust);
    if (output.type === "elasticsearch") return elasticsearchOutput(output, epoch, trust);
    return syslogOutput(output, ca);
  }

  #credential(name: string): string | undefined {
    const path = join(this.#settings.credentials, name);
    return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
  }

  /** The store tells in the APIService by which authority it is known. */
  async #store(epoch: string): Promise<LogOutput> {
    const { spec } = await this.#client.get(APIService, { name: logsApiService });
    if (!spec.caBundle) throw new Error("the store has not started yet");
    return storeOutput({
      url: new URL(linesPath(undefined), this.#settings.store),
      epoch,
      ca: Buffer.from(spec.caBundle, "base64").toString("utf8"),
      authorization: async () => `Bearer ${readFileSync(tokenFile, "utf8").trim()}`,
    });
  }
}

/** An output that is made when it is first used, and anew after a failure: what it was made of may have changed. */
function lazyOutput(name: string, make: () => Promise<LogOutput>): LogOutput {
  let output: LogOutput | undefined;
  return {
    name,
    async send(lines, signal) {
      try {
        output ??= await make();
        return await output.send(lines, signal);
      } catch (error) {
        output?.close();
        output = undefined;
        throw error;
      }
    },
    close: () => output?.close(),
  };
}
