// Refusals of values of the wrong type name Go's structs and types, and those are facts about the kinds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeText } from "#schema/decode.ts";
import type { FieldSpec, Type } from "#schema/field.ts";
import { goTypeNames } from "#schema/go-type-names.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { catalog } from "./catalog.ts";

const structs = new Map<string, AnyStruct>();
const visitType = (type: Type): void => {
  if (type.is === "struct") visit(type.struct());
  if (type.is === "either") visit(type.either.struct());
  if (type.is === "list") visitType(type.item);
  if (type.is === "map") visitType(type.value);
};
const visit = (struct: AnyStruct): void => {
  if (structs.has(struct.name)) return;
  structs.set(struct.name, struct);
  for (const { spec } of Object.values(struct.fields as Record<string, { spec: FieldSpec }>)) visitType(spec.type);
};
for (const kind of catalog) visit(kind.struct);

const leaf = (type: Type): Type =>
  type.is === "list" ? leaf(type.item) : type.is === "map" && type.value.is !== "quantity" ? leaf(type.value) : type;

test("every name of a Go type belongs to a field of strings, or of quantities, that exists", () => {
  for (const key of goTypeNames.keys()) {
    const [, name = "", field = ""] = /^(.*)\.([^.]+)$/.exec(key) ?? [];
    const spec = structs.get(name)?.fields[field]?.spec as FieldSpec | undefined;
    assert.ok(spec, key);
    assert.ok(["string", "map"].includes(leaf(spec.type).is), key);
  }
});

test("every field with a closed set of values has a name for its type, unless Go has none either", () => {
  const unnamed = new Set(["IngressClassParametersReference"]);
  for (const [name, { fields }] of structs)
    for (const [field, { spec }] of Object.entries(fields as Record<string, { spec: FieldSpec }>))
      if (spec.enum && !unnamed.has(name.replace(/^.*\./, "")))
        assert.ok(goTypeNames.has(`${name}.${field}`), `${name}.${field}`);
});

test("a refusal names the struct, what is embedded on the way, and the type", () => {
  const refused = (kind: string, body: object): string => {
    const found = catalog.find((one) => one.kind === kind && !one.convert);
    assert.ok(found);
    try {
      decodeText(found, JSON.stringify(body));
    } catch (error) {
      return (error as Error).message.replace("json: cannot unmarshal ", "");
    }
    return "";
  };
  const inPod = (part: object) => refused("Pod", { spec: { containers: [{ name: "a", ...part }] } });
  const table: readonly (readonly [string, string])[] = [
    [
      inPod({ ports: [{ protocol: 7 }] }),
      "number into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
    ],
    [
      inPod({ resources: { limits: "s" } }),
      "string into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
    ],
    [
      inPod({ livenessProbe: { httpGet: "s" } }),
      "string into Go struct field Probe.spec.containers.livenessProbe.ProbeHandler.httpGet of type v1.HTTPGetAction",
    ],
    [
      inPod({ env: [{ valueFrom: { secretKeyRef: { name: 7 } } }] }),
      "number into Go struct field SecretKeySelector.spec.containers.env.valueFrom.secretKeyRef.LocalObjectReference.name of type string",
    ],
    [
      inPod({ env: [{ name: "A" }, "s"] }),
      "string into Go struct field Container.spec.containers.env of type v1.EnvVar",
    ],
    [
      refused("Pod", { spec: { volumes: [{ configMap: { defaultMode: "x" } }] } }),
      "string into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap.defaultMode of type int32",
    ],
    [
      refused("PersistentVolume", { spec: { accessModes: "s" } }),
      "string into Go struct field PersistentVolumeSpec.spec.accessModes of type []v1.PersistentVolumeAccessMode",
    ],
    [
      refused("PersistentVolume", { spec: { csi: { driver: 7 } } }),
      "number into Go struct field CSIPersistentVolumeSource.spec.PersistentVolumeSource.csi.driver of type string",
    ],
    [
      refused("HorizontalPodAutoscaler", { spec: { metrics: [{ type: 7 }] } }),
      "number into Go struct field MetricSpec.spec.metrics.type of type v2.MetricSourceType",
    ],
    [
      refused("StorageClass", { reclaimPolicy: 7 }),
      "number into Go struct field StorageClass.reclaimPolicy of type v1.PersistentVolumeReclaimPolicy",
    ],
  ];
  for (const [actual, expected] of table) assert.equal(actual, expected);
});
