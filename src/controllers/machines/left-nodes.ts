// Deletes nodes whose machines have left. A node may not delete itself, but it may say of itself, and of no other, that it is gone.
import { Node } from "#api/core/v1/node.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { controller } from "#client/controller.ts";

/** What a machine says of its node when it has ended all that ran on it. */
export const leftAnnotation = "knarr.dev/left";

export const leftNodeController = controller({
  name: "left-nodes",
  for: Node,
  workers: 1,
  concerns: ({ metadata }) => metadata.annotations?.[leftAnnotation] !== undefined,

  async reconcile({ metadata }, { client }) {
    const { name, uid = "" } = metadata;
    try {
      await client.delete(Node, { name }, { preconditions: { uid } });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error; // another one has its name by now
    }
  },
});
