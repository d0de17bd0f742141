// Upstream: pkg/scheduler/framework/plugins/defaultbinder/default_binder.go.
import { Binding } from "#api/core/v1/binding.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { schedulerPlugin } from "../framework.ts";

/** Tells the API server which node the pod was given. */
export const defaultBinder = schedulerPlugin({
  name: "DefaultBinder",

  async bind({ namespace, name, uid }, node, { client }) {
    const binding = { metadata: { namespace, name, uid }, target: { kind: "Node", name: node.name } };
    await client.create(Binding, binding, { of: Pod, subresource: "binding" });
    return true;
  },
});
