// Each namespace that is annotated with a welcome gets it as a ConfigMap that its pods can mount.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { controller } from "#client/controller.ts";
import { controlledBy, controllerOf } from "#rules/owners.ts";

const annotation = "example.com/welcome";

export const welcome = controller({
  name: "welcome",
  for: Namespace,
  owns: [ConfigMap], // a change to a ConfigMap we made reconciles its namespace: deleted by hand, it comes back

  async reconcile(namespace, { client, cache, event }) {
    const { name, annotations, deletionTimestamp, uid } = namespace.metadata;
    if (deletionTimestamp !== undefined) return;
    const text = annotations?.[annotation];
    const present = cache.get(ConfigMap, { namespace: name, name: "welcome" });
    if (present && controllerOf(present)?.uid !== uid) return; // someone else's: leave it alone

    if (text === undefined) {
      if (present) await client.delete(ConfigMap, present.metadata);
    } else if (!present) {
      const ownerReferences = [controlledBy(Namespace, namespace)];
      await client.create(ConfigMap, {
        metadata: { namespace: name, name: "welcome", ownerReferences },
        data: { text },
      });
      event("Normal", "Welcomed", `Wrote the welcome of ${name}`);
    } else if (present.data?.text !== text) await client.update(ConfigMap, { ...present, data: { text } });
  },
});
