// The plugins in the order in which they are asked, whatever the order in the Corefile.
// Follows CoreDNS: plugin.cfg.
import type { PluginType } from "../plugin.ts";
import { cachePlugin } from "./cache.ts";
import { forwardPlugin } from "./forward.ts";
import { hostsPlugin } from "./hosts.ts";
import { kubernetesPlugin } from "./kubernetes.ts";
import { rewritePlugin } from "./rewrite.ts";
import {
  errorsPlugin,
  healthPlugin,
  loadbalancePlugin,
  logPlugin,
  loopPlugin,
  prometheusPlugin,
  readyPlugin,
  reloadPlugin,
} from "./small.ts";
import { templatePlugin } from "./template.ts";

export const pluginTypes: readonly PluginType[] = [
  reloadPlugin,
  readyPlugin,
  healthPlugin,
  prometheusPlugin,
  errorsPlugin,
  logPlugin,
  loadbalancePlugin,
  cachePlugin,
  rewritePlugin,
  templatePlugin,
  hostsPlugin,
  kubernetesPlugin,
  loopPlugin,
  forwardPlugin,
];
