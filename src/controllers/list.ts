// Every controller, with the name it is switched by and the service account it works under. Adding one is its file and a line here.
import type { Controller } from "#client/controller.ts";
import type { AnyKind } from "#schema/kind.ts";
import { deploymentController } from "./deployment/deployment.ts";
import { replicaSetController } from "./replicaset.ts";
import { replicationControllerController } from "./replicationcontroller.ts";

export interface ListedController {
  /** As `--controllers` names it. */
  readonly name: string;
  /** In kube-system. */
  readonly serviceAccount: string;
  readonly controller: Controller<AnyKind>;
}

export const controllers: readonly ListedController[] = [
  { name: "deployment-controller", serviceAccount: "deployment-controller", controller: deploymentController },
  { name: "replicaset-controller", serviceAccount: "replicaset-controller", controller: replicaSetController },
  {
    name: "replicationcontroller-controller",
    serviceAccount: "replication-controller",
    controller: replicationControllerController,
  },
];
