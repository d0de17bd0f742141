import { get } from "node:https";
import type { HealthCheck } from "#serving/health.ts";

const timeoutMs = 20_000;

/** Asks another part of the control plane on this machine how it is; refusals read as upstream's do. */
export const componentProbe = (name: string, port: number): HealthCheck => ({
  name,
  check: (signal) =>
    new Promise((resolve, reject) => {
      const url = `https://127.0.0.1:${port}/healthz`;
      const fail = (why: string) => reject(new Error(`Get "${url}": ${why}`));
      // Its certificate is self-signed and not verified: a health check neither sends nor returns secrets.
      const request = get(url, { rejectUnauthorized: false, timeout: timeoutMs, signal }, (response) => {
        response.resume();
        if (response.statusCode === 200) resolve();
        else fail(`HTTP probe failed with statuscode: ${response.statusCode}`);
      });
      request.on("timeout", () =>
        request.destroy(new Error("net/http: request canceled while waiting for connection")),
      );
      request.on("error", (error) =>
        fail(
          "code" in error && error.code === "ECONNREFUSED"
            ? `dial tcp 127.0.0.1:${port}: connect: connection refused`
            : error.message,
        ),
      );
    }),
});
