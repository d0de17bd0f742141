import { IngressController } from "#ingress/controller.ts";
import { isKeyPair } from "#ingress/host/key-pair.ts";
import { type ProxyProgramSettings, runProxyController } from "./run-proxy-controller.ts";

export interface IngressProgramSettings extends ProxyProgramSettings {
  readonly service: string;
  readonly httpPort: number;
  readonly httpsPort: number;
}

export const runIngress = ({ service, httpPort, httpsPort, ...settings }: IngressProgramSettings): Promise<void> =>
  runProxyController("ingress", { ...settings, ingress: { httpPort, httpsPort } }, (parts) => {
    const controller = new IngressController({ ...parts, isKeyPair, service });
    return { components: [controller], isReady: () => controller.hasSynced };
  });
