import { hostname } from "node:os";
import { aborted } from "#base/aborted.ts";
import type { Component } from "#base/supervise.ts";
import { placeOf } from "#client/object-key.ts";
import { GatewayController } from "#ingress/gateway/controller.ts";
import { isKeyPair } from "#ingress/host/key-pair.ts";
import { electedPart } from "../elected-part.ts";
import { type ProxyProgramSettings, runProxyController } from "./run-proxy-controller.ts";

export interface GatewayProgramSettings extends ProxyProgramSettings {
  /** The Deployment that this runs in: `kube-system/gateway`. */
  readonly deployment: string;
}

/** A replica that ceases to lead goes on with its proxy. */
export const runGateway = ({ deployment, ...settings }: GatewayProgramSettings): Promise<void> =>
  runProxyController("gateway", settings, (parts) => {
    const { client, clock, random, log } = parts;
    const { namespace = "", name } = placeOf(deployment);
    let mayWrite = () => false;
    const controller = new GatewayController({
      ...parts,
      isKeyPair,
      isLeader: () => mayWrite(),
      deployment: { namespace, name },
    });
    const leading: Component = {
      name: "leading",
      async run(signal) {
        controller.wake();
        await aborted(signal);
      },
    };
    const election = electedPart({
      client,
      clock,
      random,
      log,
      name: "knarr-gateway",
      identity: `${hostname()}_${random.uuid()}`,
      make: (may) => {
        mayWrite = may;
        return [leading];
      },
    });
    return { components: [controller, election], isReady: () => controller.hasSynced };
  });
