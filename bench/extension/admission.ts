// What a policy and a webhook cost a create, against the same server without them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import type { WebhookTransport } from "#apiserver/webhook/transport.ts";
import { comparePairs, post } from "../apiserver/pairs.ts";
import type { Measured } from "../apiserver/servers.ts";
import { median, type Report } from "../figure.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const pods = "/api/v1/namespaces/bench/pods";

async function started(webhooks?: WebhookTransport): Promise<TestServer> {
  const server = await testServer({
    protect: (object) => object,
    admission: admissionOf({ disable: ["ServiceAccount"] }),
    ...(webhooks && { webhooks }),
  });
  await made(server, "/api/v1/namespaces", { metadata: { name: "bench" } });
  return server;
}

async function made(server: TestServer, path: string, object: object): Promise<void> {
  const { code, text } = await server.call("POST", path, object);
  if (code !== 201) throw new Error(text);
}

/** As good as those of bench/apiserver/pairs.ts in the eyes of the policy. */
const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "bench", tier: "web" } },
  spec: {
    containers: [
      {
        name: "main",
        image: "nginx:1.25",
        ports: [{ containerPort: 8080 }],
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
        env: Array.from({ length: 5 }, (_, i) => ({ name: `KEY_${i}`, value: `value ${i}` })),
      },
    ],
  },
});

const expressions = [
  "object.spec.containers.all(c, c.image.startsWith('nginx:'))",
  "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
  "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
  "has(object.metadata.labels) && 'app' in object.metadata.labels",
  "!object.spec.containers.exists(c, has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged)",
];

export async function measurePolicy(report: Report): Promise<void> {
  const costs = await comparePairs({
    async prepare(server) {
      await posted(server, `${registration}/validatingadmissionpolicies`, {
        metadata: { name: "five" },
        spec: {
          matchConstraints: {
            resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
          },
          validations: expressions.map((expression) => ({ expression })),
        },
      });
      await posted(server, `${registration}/validatingadmissionpolicybindings`, {
        metadata: { name: "five" },
        spec: { policyName: "five", validationActions: ["Deny"] },
      });
    },
    async check(_folder, server) {
      const code = await post(server, "/api/v1/namespaces/default/pods", {
        ...pod("wrong"),
        metadata: { name: "wrong" },
      });
      if (code !== 422) throw new Error(`the policy is not in force: ${code}`);
    },
  });
  report({ name: "processor time of a pod create", value: costs.without, unit: "µs" });
  report({ name: "the same with a policy of five expressions", value: costs.with, unit: "µs" });
  const name = "a pod create with a policy of five expressions costs more by";
  report({ name, value: costs.added, unit: "%", goal: { atMost: 5 } });
}

async function posted(server: Measured, path: string, object: object): Promise<void> {
  const code = await post(server, path, object);
  if (code !== 201) throw new Error(`POST ${path} was answered with ${code}`);
}

export async function measureWebhook(report: Report): Promise<void> {
  const hook = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { request: asked, apiVersion } = JSON.parse(Buffer.concat(parts).toString());
      response.setHeader("content-type", "application/json");
      const answer = { kind: "AdmissionReview", apiVersion, response: { uid: asked.uid, allowed: true } };
      response.end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, "127.0.0.1", resolve));
  const { port } = hook.address() as AddressInfo;
  const connections = webhookConnections();
  const trips: number[] = [];
  // Webhooks are asked over TLS; here only the server's own share is of interest, so that it is left out.
  const plainly: WebhookTransport = {
    async post(target, post, signal) {
      const url = new URL(`http://127.0.0.1:${port}/`);
      const begun = performance.now();
      const answer = await connections.post({ ...target, url }, post, signal);
      trips.push(performance.now() - begun);
      return answer;
    },
  };
  try {
    await using plain = await started();
    await using asking = await started(plainly);
    await made(asking, `${registration}/validatingwebhookconfigurations`, {
      metadata: { name: "loop" },
      webhooks: [
        {
          name: "loop.example.com",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          clientConfig: { url: "https://hook.example/" },
          rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
      ],
    });
    const own: number[] = [];
    for (let i = 0; i < 1500; i++) {
      const without = await timed(() => made(plain, pods, pod(`w-${i}`)));
      const withHook = await timed(() => made(asking, pods, pod(`w-${i}`)));
      if (i >= 500) own.push(withHook - without - (trips.at(-1) ?? 0));
    }
    report({ name: "round trip of a webhook on loopback", value: median(trips), unit: "ms" });
    report({ name: "a webhook costs beyond its round trip", value: median(own), unit: "ms", goal: { atMost: 1 } });
  } finally {
    connections.close();
    hook.close();
    hook.closeAllConnections();
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}
