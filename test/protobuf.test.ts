// Protobuf of every kind in the catalog: there and back, and byte for byte against what Kubernetes' own Go types encode to.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { catalog } from "#api/catalog.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { APIResourceList } from "#api/meta/discovery.ts";
import { DeleteOptions } from "#api/meta/options.ts";
import { Status } from "#api/meta/status.ts";
import type { AnyStruct } from "#schema/index.ts";
import { DecodeError } from "#schema/json.ts";
import { decodeMessage, encodeMessage } from "#schema/protobuf/codec.ts";
import { open, seal } from "#schema/protobuf/envelope.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { normalized } from "#schema/testing/normalize.ts";

/** JSON, and the base64 of what Kubernetes v1.36 makes of it in protobuf. */
// biome-ignore format: one line of JSON and its bytes are easier to compare
const vectors: readonly [object: Readonly<Record<string, unknown>> & { apiVersion: string; kind: string }, bytes: string][] = [
  [{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default","creationTimestamp":"2026-01-02T03:04:05Z","labels":{"app":"web"}},"spec":{"volumes":[{"name":"data","emptyDir":{"sizeLimit":"1Gi"}}],"containers":[{"name":"c","image":"nginx","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"limits":{"cpu":"500m","memory":"64Mi"}},"livenessProbe":{"httpGet":{"path":"/","port":"http"}}}],"nodeName":"n1","securityContext":{"runAsNonRoot":false}},"status":{"phase":"Running","podIP":"10.0.0.1"}},
  "azhzAAoJCgJ2MRIDUG9kEoECCi4KA3dlYhIAGgdkZWZhdWx0IgAqADIAOABCCAil69zKBhAAWgoKA2FwcBIDd2ViEqoBChMKBGRhdGESCxIJCgASBQoDMUdpEnEKAWMSBW5naW54KgAyDQoAEAAYUCIDVENQKgBCIQoNCgNjcHUSBgoENTAwbQoQCgZtZW1vcnkSBgoENjRNaVIhChUSEwoBLxIKCAEQABoEaHR0cBoAIgAQABgAIAAoADAAagByAIABAIgBAJABAKIBABoAMgBCAEoAUgJuMVgAYABoAHICGACCAQCKAQCaAQDCAQAaIgoHUnVubmluZxoAIgAqADIIMTAuMC4wLjFKAFoAcgCIAQAaACIA"],
  [{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","generation":2},"spec":{"replicas":0,"selector":{"matchLabels":{"app":"d"}},"template":{"metadata":{"labels":{"app":"d"}},"spec":{"containers":[{"name":"c","resources":{}}]}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":1}}},"status":{}},
  "azhzAAoVCgdhcHBzL3YxEgpEZXBsb3ltZW50ErMBChEKAWQSABoAIgAqADIAOAJCABKPAQgAEgoKCAoDYXBwEgFkGlUKGgoAEgAaACIAKgAyADgAQgBaCAoDYXBwEgFkEjcSGQoBYxIAKgBCAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAIiQKDVJvbGxpbmdVcGRhdGUSEwoJCAEQABoDMjUlEgYIABABGgAoADgAGgwIABAAGAAgACgAOAAaACIA"],
  [{"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":{"ports":[{"name":"http","protocol":"TCP","port":80,"targetPort":"web","nodePort":-1}],"selector":{"b":"2","a":"1"},"clusterIP":"None","sessionAffinity":"None"},"status":{"loadBalancer":{}}},
  "azhzAAoNCgJ2MRIHU2VydmljZRJmChEKAXMSABoAIgAqADIAOABCABJNCiMKBGh0dHASA1RDUBhQIgkIARAAGgN3ZWIo////////////ARIGCgFhEgExEgYKAWISATIaBE5vbmUiADoETm9uZUIAUgBaAGAAaAAaAgoAGgAiAA=="],
  [{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.example.com"},"spec":{"group":"example.com","names":{"plural":"things","kind":"Thing"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"size":{"type":"integer","minimum":0.5,"default":3,"enum":[1,"a",null]},"free":{"type":"object","additionalProperties":true},"map":{"type":"object","additionalProperties":{"type":"string"}},"list":{"type":"array","items":{"type":"string"}}}}}}]},"status":{"conditions":[{"type":"Established","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}],"acceptedNames":{"plural":"things","kind":"Thing"},"storedVersions":["v1"]}},
  "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEoAECiIKEnRoaW5ncy5leGFtcGxlLmNvbRIAGgAiACoAMgA4AEIAEpcDCgtleGFtcGxlLmNvbRoTCgZ0aGluZ3MSACIFVGhpbmcqACIHQ2x1c3RlcjrnAgoCdjEQARgBItoCCtcCCgASACIAKgZvYmplY3QyADoAUABgAHoAkAEA6gExCgRmcmVlEikKABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQDyAQIIAagCALgCAMACAOoBVAoEbGlzdBJMCgASACIAKgVhcnJheTIAOgBQAGAAegCQAQDCASYKJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAOoBVgoDbWFwEk8KABIAIgAqBm9iamVjdDIAOgBQAGAAegCQAQDyASgIARIkCgASACIAKgZzdHJpbmcyADoAUABgAHoAkAEAqAIAuAIAwAIAqAIAuAIAwAIA6gFMCgRzaXplEkQKABIAIgAqB2ludGVnZXIyADoAQgMKATNQAFkAAAAAAADgP2AAegCQAQCiAQMKATGiAQUKAyJhIqIBAKgCALgCAMACAKgCALgCAMACADgAUAAaQAojCgtFc3RhYmxpc2hlZBIEVHJ1ZRoICKXr3MoGEAAiACoAMAASEwoGdGhpbmdzEgAiBVRoaW5nKgAaAnYxIAAaACIA"],
  [{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"},"spec":{"podCIDR":"10.0.0.0/24","taints":[{"key":"k","effect":"NoSchedule","timeAdded":"2026-01-02T03:04:05Z"}]},"status":{"capacity":{"cpu":"4","memory":"8Gi"},"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}},"nodeInfo":{"machineID":"m","systemUUID":"","bootID":"","kernelVersion":"6","osImage":"","containerRuntimeVersion":"","kubeletVersion":"v1.36","kubeProxyVersion":"","operatingSystem":"linux","architecture":"amd64"},"images":[{"names":["nginx"],"sizeBytes":5000000000}]}},
  "azhzAAoKCgJ2MRIETm9kZRKkAQoSCgJuMRIAGgAiACoAMgA4AEIAEjAKCzEwLjAuMC4wLzI0EgAaACAAKhsKAWsSABoKTm9TY2hlZHVsZSIICKXr3MoGEAAaXAoKCgNjcHUSAwoBNAoPCgZtZW1vcnkSBQoDOEdpGgAyBQoDCIpQOiUKAW0SABoAIgE2KgAyADoFdjEuMzZCAEoFbGludXhSBWFtZDY0Qg0KBW5naW54EIDkl9ASGgAiAA=="],
  [{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"/wAB","empty":""},"type":"Opaque"},
  "azhzAAoMCgJ2MRIGU2VjcmV0EjAKEQoBcxIAGgAiACoAMgA4AEIAEggKAWESA/8AARIJCgVlbXB0eRIAGgZPcGFxdWUaACIA"],
  [{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},"involvedObject":{"kind":"Pod","name":"web"},"reason":"Started","source":{"component":"kubelet"},"firstTimestamp":"2026-01-02T03:04:05Z","count":3,"type":"Normal","eventTime":"2026-01-02T03:04:05.000006Z","reportingComponent":"","reportingInstance":""},
  "azhzAAoLCgJ2MRIFRXZlbnQSbwoYCgFlEgAaB2RlZmF1bHQiACoAMgA4AEIAEhQKA1BvZBIAGgN3ZWIiACoAMgA6ABoHU3RhcnRlZCIAKgsKB2t1YmVsZXQSADIICKXr3MoGEAA6AEADSgZOb3JtYWxSCQil69zKBhDwLmIAcgB6ABoAIgA="],
  [{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","metadata":{},"spec":{"user":"u","extra":{"scopes":["a","b"]}},"status":{"allowed":false}},
  "azhzAAouChdhdXRob3JpemF0aW9uLms4cy5pby92MRITU3ViamVjdEFjY2Vzc1JldmlldxI1ChAKABIAGgAiACoAMgA4AEIAEhcaAXUqEAoGc2NvcGVzEgYKAWEKAWIyABoICAASABoAIAAaACIA"],
  [{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"r","managedFields":[{"manager":"m","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}}]},"data":{"spec":{"x":1}},"revision":-7},
  "azhzAAodCgdhcHBzL3YxEhJDb250cm9sbGVyUmV2aXNpb24SbwpOCgFyEgAaACIAKgAyADgAQgCKAToKAW0SBUFwcGx5GgdhcHBzL3YxIggIpevcygYQADIIRmllbGRzVjE6DwoNeyJmOmRhdGEiOnt9fUIAEhIKEHsic3BlYyI6eyJ4IjoxfX0Y+f//////////ARoAIgA="],
  [{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":"p"},"spec":{"matchConstraints":{"resourceRules":[{"resourceNames":["x"],"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"scope":"*"}]}},"status":{}},
  "azhzAAo8Ch9hZG1pc3Npb25yZWdpc3RyYXRpb24uazhzLmlvL3YxEhlWYWxpZGF0aW5nQWRtaXNzaW9uUG9saWN5EkYKEQoBcBIAGgAiACoAMgA4AEIAEi0SKxopCgF4EiQKBkNSRUFURRIaCgRhcHBzEgJ2MRoLZGVwbG95bWVudHMiASoaAggAGgAiAA=="],
  [{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"12","continue":"x","remainingItemCount":0},"items":[{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","resources":{}}]},"status":{}}]},
  "azhzAAoNCgJ2MRIHUG9kTGlzdBJwCgsKABICMTIaAXggABJhChEKAWESABoAIgAqADIAOABCABI3EhkKAWMSACoAQgBqAHIAgAEAiAEAkAEAogEAGgAyAEIASgBSAFgAYABoAIIBAIoBAJoBAMIBABoTCgAaACIAKgAyAEoAWgByAIgBABoAIgA="],
  [{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure","message":"no","reason":"NotFound","details":{"name":"x","causes":[{"reason":"r","message":"m","field":"f"}],"retryAfterSeconds":1},"code":404},
  "azhzAAoMCgJ2MRIGU3RhdHVzEjoKBgoAEgAaABIHRmFpbHVyZRoCbm8iCE5vdEZvdW5kKhYKAXgSABoAIgkKAXISAW0aAWYoATIAMJQDGgAiAA=="],
  [{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Foreground","dryRun":["All"]},
  "azhzAAoTCgJ2MRINRGVsZXRlT3B0aW9ucxIYCAASAwoBdSIKRm9yZWdyb3VuZCoDQWxsGgAiAA=="],
  [{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"s"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"app=s"}},
  "azhzAAoXCg5hdXRvc2NhbGluZy92MRIFU2NhbGUSIgoRCgFzEgAaACIAKgAyADgAQgASAggDGgkIAhIFYXBwPXMaACIA"],
  [{"apiVersion":"v1","kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list"]}]},
  "azhzAAoVCgJ2MRIPQVBJUmVzb3VyY2VMaXN0EisKAnYxEiUKBHBvZHMQARoDUG9kIgsKA2dldAoEbGlzdDIDcG9kQgBKAFIAGgAiAA=="],
];

const structs = new Map<string, AnyStruct>([
  ...[...catalog, Scale].map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind.struct] as const),
  ["v1 PodList", listStruct(Pod)],
  ["v1 Status", Status],
  ["v1 DeleteOptions", DeleteOptions],
  ["v1 APIResourceList", APIResourceList],
]);

for (const [object, base64] of vectors) {
  const { apiVersion, kind, ...content } = object;
  const struct = structs.get(`${apiVersion} ${kind}`)!;
  test(`a ${kind} is encoded as upstream does`, () =>
    assert.equal(Buffer.from(seal({ apiVersion, kind }, struct, content)).toString("base64"), base64));
  test(`a ${kind} that upstream encoded is read`, () => {
    const envelope = open(Buffer.from(base64, "base64"));
    assert.equal(envelope.apiVersion, apiVersion);
    assert.equal(envelope.kind, kind);
    assert.deepEqual(decodeMessage(struct, envelope.message), normalized(struct, content));
  });
}

for (const kind of catalog)
  test(`${kind.apiVersion} ${kind.kind} comes back from protobuf as it went in`, () => {
    const { struct } = kind;
    fc.assert(
      fc.property(arbitraryObject(kind), (object) => {
        const back = decodeMessage(struct, encodeMessage(struct, object));
        assert.deepEqual(back, normalized(struct, object));
        assert.deepEqual(decodeMessage(struct, encodeMessage(struct, back)), back);
      }),
      { numRuns: 30 },
    );
  });

test("damaged envelopes and messages of every kind are decoded or refused, nothing else", () => {
  const damaged = fc
    .tuple(fc.constantFrom(...vectors), fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 }))
    .map(([[object, base64], changes]) => {
      const bytes = Uint8Array.from(Buffer.from(base64, "base64"));
      for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
      return { struct: structs.get(`${object.apiVersion} ${object.kind}`)!, bytes };
    });
  fc.assert(
    fc.property(damaged, ({ struct, bytes }) => {
      try {
        decodeMessage(struct, open(bytes).message);
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
      }
    }),
    { numRuns: 10_000 },
  );
});
