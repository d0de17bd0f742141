import type { VolumeKind } from "../volume-kind.ts";
import { emptyDir } from "./empty-dir.ts";
import { hostPath } from "./host-path.ts";
import { local } from "./local.ts";
import { configMap, downwardApi, projected, secret } from "./object-volumes.ts";

/** All kinds of volumes that this kubelet can mount. The first that supports a volume has it. */
export const volumeKinds: readonly VolumeKind[] = [
  emptyDir,
  hostPath,
  local,
  configMap,
  secret,
  downwardApi,
  projected,
];
