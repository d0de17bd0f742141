// Brings the control plane to its node: makes the images of it, loads them there, and writes the manifests that the kubelet runs.
import { join } from "node:path";
import { aborted } from "#base/aborted.ts";
import { systemClock as clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { retry } from "#base/retry.ts";
import type { Component } from "#base/supervise.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { archivePath } from "../addons/addon-images.ts";
import { projectImage } from "../addons/project-image.ts";
import { importImages } from "../images/import.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import type { Settings } from "../local/settings.ts";
import type { MachineNode } from "../machine/run-node.ts";
import { writeManifests } from "./manifest-folder.ts";
import { manifestOptions } from "./manifest-options.ts";
import { controlPlaneManifests } from "./manifests.ts";

export interface ControlPlanePodsOptions {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  /** Where they run. */
  readonly node: MachineNode;
  /** Of the API server. */
  readonly port: number;
  readonly log: Log;
}

export interface ControlPlanePods extends Component {
  /** Of their mirror pods in kube-system, once their manifests are there. */
  readonly names: Promise<readonly string[]>;
}

/** Where the manifests of a node's static pods are. */
export const manifestFolder = ({ folder }: Pick<MachineNode, "folder">): string => join(folder, "manifests");

const again = { firstMs: 100, maxMs: 2000 };

export function controlPlanePods(options: ControlPlanePodsOptions): ControlPlanePods {
  const { place, settings, node, log } = options;
  const names = Promise.withResolvers<readonly string[]>();
  return {
    name: "control plane",
    names: names.promise,
    async run(signal) {
      const wanted = settings.ha ? ["control-plane", "etcd"] : ["control-plane"];
      const images = await makeImages(place, wanted, signal);
      const archives = wanted.map((name) => archivePath(place.imageCache, name));
      const when = (error: unknown) => {
        log.debug("images cannot be loaded yet", { node: node.name, error: explain(error) });
        return true; // its containerd is being started
      };
      await retry((stop) => importImages(node.containerd, archives, stop), { ...again, clock, when }, signal);
      const pods = controlPlaneManifests(manifestOptions(options, images));
      const texts = new Map([...pods].map(([name, pod]) => [name, printYaml(pod)]));
      const noteFile = join(place.folder, "manifests.json");
      const present = writeManifests({ folder: manifestFolder(node), noteFile, log }, { texts, images });
      names.resolve(present.map((name) => `${name}-${node.name}`));
      await aborted(signal);
    },
  };
}

async function makeImages(
  place: ClusterFolder,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  const images: Record<string, string> = {};
  for (const name of wanted)
    try {
      images[name] = await projectImage({ cache: place.imageCache, name, isAwaited: true }, signal);
    } catch (cause) {
      throw new Error(`the image ${name}, which the control plane runs from, could not be made`, { cause });
    }
  return images;
}
