// What a policy and a webhook cost a create, against the same server without them.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import type { WebhookTransport } from "#apiserver/webhook/transport.ts";
import { median, type Report } from "../figure.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const pods = "/api/v1/namespaces/bench/pods";
const rounds = 300;
const perRound = 40;

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

const pod = (name: string) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, labels: { app: "bench", tier: "web" } },
  spec: {
    containers: [
      {
        name: "main",
        image: "registry.example/bench:1",
        ports: [{ containerPort: 8080 }],
        resources: { requests: { cpu: "100m", memory: "64Mi" }, limits: { memory: "128Mi" } },
        env: Array.from({ length: 5 }, (_, i) => ({ name: `KEY_${i}`, value: `value ${i}` })),
      },
    ],
  },
});

const expressions = [
  "object.spec.containers.all(c, c.image.startsWith('registry.example/'))",
  "object.spec.containers.all(c, has(c.resources) && has(c.resources.limits) && 'memory' in c.resources.limits)",
  "!has(object.spec.hostNetwork) || !object.spec.hostNetwork",
  "has(object.metadata.labels) && 'app' in object.metadata.labels",
  "!object.spec.containers.exists(c, has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged)",
];

export async function measurePolicy(report: Report): Promise<void> {
  await using plain = await started();
  await using judged = await started();
  await made(judged, `${registration}/validatingadmissionpolicies`, {
    metadata: { name: "five" },
    spec: {
      matchConstraints: {
        resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
      },
      validations: expressions.map((expression) => ({ expression })),
    },
  });
  await made(judged, `${registration}/validatingadmissionpolicybindings`, {
    metadata: { name: "five" },
    spec: { policyName: "five", validationActions: ["Deny"] },
  });
  const wrong = pod("wrong");
  const refused = await judged.call("POST", pods, { ...wrong, metadata: { name: "wrong" } });
  if (refused.code !== 422) throw new Error(`the policy is not in force: ${refused.text}`);
  const times: { readonly plain: number[]; readonly judged: number[] } = { plain: [], judged: [] };
  const round = async (server: TestServer): Promise<number> => {
    const before = process.cpuUsage();
    for (let n = 0; n < perRound; n++) await made(server, `${pods}?dryRun=All`, pod("p"));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  // Short rounds in turn, without anything being stored: what else the machine does falls on both alike.
  for (let i = 0; i < rounds; i++) {
    times.plain.push(await round(plain));
    times.judged.push(await round(judged));
  }
  const settled = (all: readonly number[]) => median(all.slice(rounds / 3));
  const value = (settled(times.judged) / settled(times.plain) - 1) * 100;
  const name = "a pod create with a policy of five expressions costs more by";
  report({ name: "processor time of a pod create", value: settled(times.plain) / perRound, unit: "us" });
  report({ name, value, unit: "%", goal: { atMost: 5 } });
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
