import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyStruct } from "#schema/struct.ts";
import { Toleration } from "./core/v1/affinity.ts";
import { PersistentVolumeSource } from "./core/v1/persistent-volume.ts";
import { PersistentVolumeClaimSpec } from "./core/v1/persistent-volume-claim.ts";
import { PodSpec } from "./core/v1/pod-spec.ts";
import { internalForm } from "./internal-form.ts";
import { LabelSelector } from "./meta/label-selector.ts";
import { ResourceClaimTemplateSpec } from "./resource/v1/resource-claim-template.ts";

const json = (struct: AnyStruct, value: Readonly<Record<string, unknown>>) =>
  JSON.stringify(internalForm(struct, value));

const cases: readonly [what: string, struct: AnyStruct, value: Readonly<Record<string, unknown>>, form: string][] = [
  [
    "every field of a struct is there, under its name in Go",
    Toleration,
    { key: "k", operator: "Exists" },
    '{"Key":"k","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
  ],
  [
    "types of meta/v1 keep their names",
    LabelSelector,
    { matchExpressions: [{ operator: "Exists", key: "k" }], matchLabels: { b: "2", a: "1" } },
    '{"matchLabels":{"a":"1","b":"2"},"matchExpressions":[{"key":"k","operator":"Exists"}]}',
  ],
  [
    "metadata is embedded",
    ResourceClaimTemplateSpec,
    { metadata: { labels: { a: "b" } }, spec: { devices: {} } },
    '{"labels":{"a":"b"},"Spec":{"Devices":{"Requests":null,"Constraints":null,"Config":null}}}',
  ],
  [
    "structs that are always there show their fields, and keys of maps are sorted",
    PersistentVolumeClaimSpec,
    { resources: { requests: { storage: "1Gi", a: "1" } }, dataSource: { apiGroup: "x", kind: "K", name: "n" } },
    '{"AccessModes":null,"Selector":null,"Resources":{"Limits":null,"Requests":{"a":"1","storage":"1Gi"}},"VolumeName":"",' +
      '"StorageClassName":null,"VolumeMode":null,"DataSource":{"APIGroup":"x","Kind":"K","Name":"n"},"DataSourceRef":null,' +
      '"VolumeAttributesClassName":null}',
  ],
];
for (const [what, struct, value, form] of cases)
  test(`in the internal form, ${what}`, () => assert.equal(json(struct, value), form));

test("the internal form has the order of the internal type, not of ours", () => {
  const names = Object.keys(internalForm(PersistentVolumeSource, {}));
  assert.deepEqual(names.slice(4, 11), ["NFS", "RBD", "Quobyte", "ISCSI", "FlexVolume", "Cinder", "CephFS"]);
  assert.equal(names.length, Object.keys(PersistentVolumeSource.fields).length);
});

test("the internal form of a pod has what it shares with its node among its rights", () => {
  const form = internalForm(PodSpec, { containers: [], hostNetwork: true, securityContext: { runAsUser: 1 } });
  const shared = { HostNetwork: true, HostPID: false, HostIPC: false, ShareProcessNamespace: null, HostUsers: null };
  const context = form.SecurityContext as Readonly<Record<string, unknown>>;
  assert.deepEqual({ ...context, ...shared, RunAsUser: 1 }, context);
  assert.ok(!("HostNetwork" in form) && !("DeprecatedServiceAccount" in form) && "DNSPolicy" in form && "OS" in form);
});
