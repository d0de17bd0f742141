// Admission webhooks that answer, refuse, lie, break and do not answer: what clients are told, and that nobody else is harmed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { MetricRegistry } from "#base/metrics.ts";
import {
  authority,
  base64,
  otherAuthority,
  startWebhook,
  type TestWebhook,
  type WebhookCall,
} from "./webhook-server.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const configMaps = "/api/v1/namespaces/default/configmaps";
const everything = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
const forConfigMaps = [{ ...everything, apiGroups: [""], resources: ["configmaps"] }];

async function startServer(metrics = new MetricRegistry()) {
  const webhooks = webhookConnections();
  const s = await testServer({ admission: admissionOf({}), webhooks, metrics });
  for (const name of ["default", "other"])
    await s.call("POST", "/api/v1/namespaces", { metadata: { name, labels: { name } } });
  return {
    ...s,
    async [Symbol.asyncDispose]() {
      webhooks.close();
      await s[Symbol.asyncDispose]();
    },
  };
}

interface HookOptions {
  readonly [field: string]: unknown;
}

async function configure(s: TestServer, type: "mutating" | "validating", hooks: Readonly<Record<string, HookOptions>>) {
  const path = `${admission}/${type}webhookconfigurations`;
  const made = await s.call("POST", path, {
    metadata: { name: `c-${Object.keys(hooks)[0]}` },
    webhooks: Object.entries(hooks).map(([name, options]) => ({
      name: `${name}.example.com`,
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      rules: forConfigMaps,
      ...options,
    })),
  });
  assert.equal(made.code, 201, made.text);
  assert.equal(made.headers?.warning, undefined);
  await s.call("GET", path);
}

const at = (hook: TestWebhook, path = "") => ({ url: hook.url + path, caBundle: base64(authority.cert) });
const reviewOf = ({ body }: WebhookCall) => JSON.parse(body).request;
const answering =
  (answer: (request: ReturnType<typeof reviewOf>, call: WebhookCall) => object) =>
  (call: WebhookCall): object => {
    const { apiVersion } = JSON.parse(call.body);
    const request = reviewOf(call);
    return { kind: "AdmissionReview", apiVersion, response: { uid: request.uid, ...answer(request, call) } };
  };
const patchOf = (...operations: readonly object[]) => ({
  allowed: true,
  patchType: "JSONPatch",
  patch: base64(JSON.stringify(operations)),
});
const create = (s: TestServer, name: string, more: object = {}, query = "") =>
  s.call("POST", `${configMaps}${query}`, { metadata: { name }, ...more });

test("a validating webhook is asked as upstream asks, and its denial is the client's answer", async () => {
  await using hook = await startWebhook(
    answering(({ object, operation }) =>
      operation === "DELETE" || object.data?.ok
        ? { allowed: true, warnings: ["mind this"] }
        : { allowed: false, status: { code: 403, reason: "Forbidden", message: "no ok" } },
    ),
  );
  await using s = await startServer();
  await configure(s, "validating", { deny: { clientConfig: at(hook, "/v") } });

  const denied = await create(s, "a", {}, "?fieldManager=me");
  assert.equal(denied.code, 403);
  assert.equal(denied.json.message, 'admission webhook "deny.example.com" denied the request: no ok');
  const review = JSON.parse(hook.calls[0]?.body ?? "");
  const { uid, object, ...rest } = review.request;
  assert.deepEqual([review.kind, review.apiVersion], ["AdmissionReview", "admission.k8s.io/v1"]);
  assert.match(uid, /^[0-9a-f-]{36}$/);
  assert.deepEqual([object.kind, object.apiVersion, object.metadata.name], ["ConfigMap", "v1", "a"]);
  assert.deepEqual(rest, {
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    resource: { group: "", version: "v1", resource: "configmaps" },
    requestKind: { group: "", version: "v1", kind: "ConfigMap" },
    requestResource: { group: "", version: "v1", resource: "configmaps" },
    name: "a",
    namespace: "default",
    operation: "CREATE",
    userInfo: { username: "tester", groups: ["system:masters", "system:authenticated"] },
    oldObject: null,
    dryRun: false,
    options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1", fieldManager: "me" },
  });

  const allowed = await create(s, "a", { data: { ok: "1" } });
  assert.equal(allowed.code, 201);
  assert.match(String(allowed.headers?.warning), /"mind this"/);
  assert.equal((await s.call("DELETE", `${configMaps}/a`)).code, 200);
  const deletion = reviewOf(hook.calls.at(-1) as WebhookCall);
  assert.deepEqual([deletion.operation, deletion.object, deletion.oldObject.metadata.name], ["DELETE", null, "a"]);
  assert.equal(hook.connections, 1);
});

test("what matches is decided by rules, scopes, selectors and the object's own labels", async () => {
  await using hook = await startWebhook(answering(() => ({ allowed: false })));
  const asked = async (options: HookOptions, method: string, path: string, body: object = {}) => {
    await using s = await startServer();
    await configure(s, "validating", { x: { clientConfig: at(hook), ...options } });
    const before = hook.calls.length;
    await s.call(method, path, body);
    return hook.calls.length > before;
  };
  const map = (labels: object = {}) => ({ metadata: { name: "a", labels } });
  const rules = (rule: object) => ({ rules: [{ ...everything, ...rule }] });
  assert.equal(await asked({}, "POST", configMaps, map()), true);
  assert.equal(await asked(rules({ operations: ["UPDATE"] }), "POST", configMaps, map()), false);
  assert.equal(await asked(rules({ apiGroups: ["apps"] }), "POST", configMaps, map()), false);
  assert.equal(await asked(rules({ resources: ["configmaps/status"] }), "POST", configMaps, map()), false);
  assert.equal(await asked(rules({ scope: "Cluster" }), "POST", configMaps, map()), false);
  assert.equal(await asked(rules({ scope: "Cluster" }), "POST", "/api/v1/namespaces", map()), true);
  assert.equal(await asked(rules({ scope: "Namespaced" }), "POST", "/api/v1/namespaces", map()), false);
  const selecting = (labels: object) => ({ objectSelector: { matchLabels: labels } });
  assert.equal(await asked(selecting({ a: "b" }), "POST", configMaps, map()), false);
  assert.equal(await asked(selecting({ a: "b" }), "POST", configMaps, map({ a: "b" })), true);
  const inNamespace = (name: string) => ({ namespaceSelector: { matchLabels: { name } } });
  assert.equal(await asked(inNamespace("other"), "POST", configMaps, map()), false);
  assert.equal(await asked(inNamespace("default"), "POST", configMaps, map()), true);
  const newOne = { ...inNamespace("new"), ...rules({}) };
  assert.equal(
    await asked(newOne, "POST", "/api/v1/namespaces", { metadata: { name: "n", labels: { name: "new" } } }),
    true,
  );
  // Their own configurations are for nobody to refuse.
  const own = { metadata: { name: "own" } };
  assert.equal(await asked(rules({}), "POST", `${admission}/mutatingwebhookconfigurations`, own), false);
});

test("a rule for another version of a resource matches, and the webhook sees that version", async () => {
  await using hook = await startWebhook(answering(() => ({ allowed: false })));
  await using s = await startServer();
  const rules = [{ operations: ["*"], apiGroups: ["autoscaling"], apiVersions: ["v1"], resources: ["*"] }];
  await configure(s, "validating", {
    exact: { clientConfig: at(hook, "/exact"), rules, matchPolicy: "Exact" },
    equal: { clientConfig: at(hook, "/equal"), rules },
  });
  const made = await s.call("POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {
    metadata: { name: "h" },
    spec: { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 },
  });
  assert.equal(made.json.message, 'admission webhook "equal.example.com" denied the request without explanation');
  assert.equal(made.code, 400);
  assert.deepEqual(
    hook.calls.map(({ url }) => url),
    ["/equal?timeout=10s"],
  );
  const { kind, requestKind, object } = reviewOf(hook.calls[0] as WebhookCall);
  assert.deepEqual([kind.version, requestKind.version, object.apiVersion], ["v1", "v2", "autoscaling/v1"]);
});

test("mutating webhooks are asked in order, and each sees what the last one made", async () => {
  await using hook = await startWebhook(
    answering(({ object }, { url }) =>
      url.startsWith("/none")
        ? { allowed: true }
        : patchOf({ op: "add", path: "/data", value: { ...object.data, [url.slice(1, 2)]: "1" } }),
    ),
  );
  await using s = await startServer();
  await configure(s, "mutating", { b: { clientConfig: at(hook, "/b") } });
  await configure(s, "mutating", { a: { clientConfig: at(hook, "/a") }, n: { clientConfig: at(hook, "/none") } });
  const made = await create(s, "x");
  assert.deepEqual(made.json.data, { a: "1", b: "1" });
  assert.deepEqual(
    hook.calls.map(({ url }) => url.split("?")[0]),
    ["/a", "/none", "/b"],
  );
  const updated = await s.call("PUT", `${configMaps}/x`, { metadata: { name: "x" }, data: { c: "1" } });
  assert.deepEqual(updated.json.data, { a: "1", b: "1", c: "1" });
  assert.equal(reviewOf(hook.calls.at(-1) as WebhookCall).oldObject.data.a, "1");
});

test("a webhook that wants to is asked again when a later one changed the object, and only then", async () => {
  await using hook = await startWebhook(
    answering(({ object }, { url }) => {
      if (!url.startsWith("/late") || object.data?.late) return { allowed: true };
      return patchOf({ op: "add", path: "/data", value: { late: "1" } });
    }),
  );
  await using s = await startServer();
  const reinvocationPolicy = "IfNeeded";
  await configure(s, "mutating", {
    again: { clientConfig: at(hook, "/again"), reinvocationPolicy },
    never: { clientConfig: at(hook, "/never") },
    late: { clientConfig: at(hook, "/late"), reinvocationPolicy },
  });
  await create(s, "x");
  const paths = () => hook.calls.map(({ url }) => url.split("?")[0]);
  assert.deepEqual(paths(), ["/again", "/never", "/late", "/again"]);
  assert.equal(reviewOf(hook.calls[3] as WebhookCall).object.data.late, "1");
  await create(s, "y", { data: { late: "1" } });
  assert.deepEqual(paths().slice(4), ["/again", "/never", "/late"]);
});

test("a dry run asks only webhooks without side effects, and tells them", async () => {
  await using hook = await startWebhook(answering(() => ({ allowed: true })));
  await using s = await startServer();
  await configure(s, "validating", { none: { clientConfig: at(hook), sideEffects: "NoneOnDryRun" } });
  assert.equal((await create(s, "x", {}, "?dryRun=All")).code, 201);
  const { dryRun, options } = reviewOf(hook.calls[0] as WebhookCall);
  assert.deepEqual([dryRun, options.dryRun], [true, ["All"]]);
});

test("webhooks of the old review version are asked in it", async () => {
  await using hook = await startWebhook((call) => {
    assert.equal(JSON.parse(call.body).apiVersion, "admission.k8s.io/v1beta1");
    return { response: patchOf({ op: "add", path: "/data", value: { a: "1" } }) }; // neither uid nor version were asked for then
  });
  await using s = await startServer();
  await configure(s, "mutating", { old: { clientConfig: at(hook), admissionReviewVersions: ["v9", "v1beta1"] } });
  assert.deepEqual((await create(s, "x")).json.data, { a: "1" });
});

test("subresources and connections are asked about with what was sent", async () => {
  await using hook = await startWebhook(answering(() => ({ allowed: false })));
  await using s = await startServer();
  const ofPods = [{ ...everything, apiGroups: [""], resources: ["pods/*"] }];
  await s.call("POST", "/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "default" } });
  await s.call("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "p" },
    spec: { containers: [{ name: "c", image: "i" }] },
  });
  await configure(s, "validating", { sub: { clientConfig: at(hook), rules: ofPods } });
  const pod = "/api/v1/namespaces/default/pods/p";
  const binding = await s.call("POST", `${pod}/binding`, {
    metadata: { name: "p" },
    target: { kind: "Node", name: "n" },
  });
  assert.equal(binding.code, 400);
  const exec = await s.call("POST", `${pod}/exec?command=ls`);
  assert.equal(exec.json.message, 'admission webhook "sub.example.com" denied the request without explanation');
  const [bound, connected] = hook.calls.map(reviewOf);
  assert.deepEqual([bound.kind.kind, bound.resource.resource, bound.subResource], ["Binding", "pods", "binding"]);
  assert.deepEqual(
    [connected.operation, connected.kind.kind, connected.object.command, connected.options],
    ["CONNECT", "PodExecOptions", ["ls"], null],
  );
});

const nothing = () => undefined;
const broken: readonly [
  what: string,
  (call: WebhookCall, response: import("node:http").ServerResponse) => unknown,
  why: RegExp,
][] = [
  [
    "a wrong uid",
    () => ({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1", response: { uid: "x", allowed: true } }),
    /received invalid webhook response: expected response.uid="[0-9a-f-]{36}", got "x"$/,
  ],
  [
    "a wrong version",
    (call) => ({
      kind: "AdmissionReview",
      apiVersion: "admission.k8s.io/v2",
      response: { uid: reviewOf(call).uid, allowed: true },
    }),
    /expected webhook response of admission.k8s.io\/v1, Kind=AdmissionReview, got admission.k8s.io\/v2, Kind=AdmissionReview$/,
  ],
  [
    "no response",
    () => ({ kind: "AdmissionReview", apiVersion: "admission.k8s.io/v1" }),
    /received invalid webhook response: webhook response was absent$/,
  ],
  [
    "no JSON",
    (_, response) => void response.end("<html>"),
    /failed to call webhook: couldn't get version\/kind; json parse error: invalid character '<'/,
  ],
  [
    "a patch without its type",
    answering(() => ({ allowed: true, patch: base64("[]") })),
    /webhook returned response.patch but not response.patchType$/,
  ],
  [
    "a patch that is no list",
    answering(() => ({ allowed: true, patchType: "JSONPatch", patch: base64("{}") })),
    /received undecodable patch in webhook response: /,
  ],
  [
    "10 MB",
    (_, response) => void response.end("x".repeat(10 * 1024 * 1024)),
    /the answer is longer than 4194304 bytes$/,
  ],
  [
    "a redirect",
    (_, response) => void response.writeHead(302, { location: "https://example.invalid/" }).end(),
    /the server responded with the status code 302 but did not return more information$/,
  ],
  [
    "a closed connection",
    (_, response) => void response.socket?.destroy(),
    /failed to call webhook: Post "https:.*": (EOF|read: connection reset by peer)$/,
  ],
  [
    "500",
    (_, response) => void response.writeHead(500).end(),
    /an error on the server \("unknown"\) has prevented the request from succeeding$/,
  ],
];

for (const [what, answer, why] of broken)
  test(`a webhook that answers with ${what} has failed, and its failure policy is obeyed`, async () => {
    await using hook = await startWebhook(answer);
    await using s = await startServer();
    const clientConfig = at(hook);
    const rules = (resource: string) => [{ ...everything, apiGroups: [""], resources: [resource] }];
    await configure(s, "mutating", {
      closed: { clientConfig, rules: rules("configmaps") },
      open: { clientConfig, rules: rules("secrets"), failurePolicy: "Ignore" },
    });
    const refused = await create(s, "a");
    assert.equal(refused.code, 500, refused.text);
    assert.equal(refused.json.reason, "InternalError");
    assert.match(
      String(refused.json.message),
      /^Internal error occurred: failed calling webhook "closed.example.com": /,
    );
    assert.match(String(refused.json.message), why);
    const ignored = await s.call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "a" } });
    assert.equal(ignored.code, 201, ignored.text);
  });

test("patches that make nonsense are refused, whatever the failure policy", async () => {
  const patches: readonly [patch: readonly object[], why: RegExp][] = [
    [
      [{ op: "remove", path: "/nope" }],
      /remove operation does not apply: doc is missing path|Unable to remove nonexistent key/,
    ],
    [[{ op: "add", path: "/data", value: "text" }], /cannot unmarshal string/],
    [[{ op: "jump", path: "/data" }], /Unexpected kind: jump/],
    [[{ op: "replace", path: "", value: 7 }], /replace operation value must be object or array/],
  ];
  let next = 0;
  await using hook = await startWebhook(answering(() => patchOf(...(patches[next]?.[0] ?? []))));
  await using s = await startServer();
  await configure(s, "mutating", { odd: { clientConfig: at(hook), failurePolicy: "Ignore" } });
  for (const [i, [, why]] of patches.entries()) {
    next = i;
    const refused = await create(s, "a");
    assert.equal(refused.code, 500, refused.text);
    assert.match(String(refused.json.message), why);
  }
  next = -1;
  assert.equal((await create(s, "a")).code, 201);
  // A deletion has nothing to be changed.
  next = 0;
  const deletion = await s.call("DELETE", `${configMaps}/a`);
  assert.equal(
    deletion.json.message,
    'Internal error occurred: admission webhook "odd.example.com" attempted to modify the object, which is not supported for this operation',
  );
});

test("a slow webhook is given up after its time, while others are served", async () => {
  const reached = Promise.withResolvers<void>();
  await using hook = await startWebhook(() => reached.resolve());
  await using s = await startServer();
  await configure(s, "validating", { slow: { clientConfig: at(hook), timeoutSeconds: 3 } });
  const waiting = create(s, "a");
  await reached.promise;
  const other = await s.call("POST", "/api/v1/namespaces/default/secrets", { metadata: { name: "a" } });
  assert.equal(other.code, 201);
  await s.clock.advance(3000);
  assert.equal(
    (await waiting).json.message,
    `Internal error occurred: failed calling webhook "slow.example.com": failed to call webhook: Post "${hook.url}/?timeout=3s": context deadline exceeded`,
  );
});

test("dead webhooks, unknown authorities and services that are not there are named", async () => {
  await using hook = await startWebhook(nothing);
  const said = async (clientConfig: object) => {
    await using s = await startServer();
    await configure(s, "validating", { dead: { clientConfig, timeoutSeconds: 2 } });
    return String((await create(s, "a")).json.message).replace(/^.*: failed to call webhook: /, "");
  };
  assert.equal(
    await said({ url: "https://127.0.0.1:1" }),
    'Post "https://127.0.0.1:1/?timeout=2s": dial tcp 127.0.0.1:1: connect: connection refused',
  );
  assert.equal(
    await said({ service: { namespace: "default", name: "nope", path: "/a" } }),
    'Post "https://nope.default.svc:443/a?timeout=2s": service "nope" not found',
  );
  assert.equal(
    await said({ url: hook.url, caBundle: base64(otherAuthority.cert) }),
    `Post "${hook.url}/?timeout=2s": tls: failed to verify certificate: x509: certificate signed by unknown authority`,
  );
});

test("a service is called at its endpoint", async () => {
  await using hook = await startWebhook(
    answering(() => ({ allowed: false })),
    { hosts: ["hook.default.svc"] },
  );
  await using s = await startServer();
  const spec = { ports: [{ port: 443 }] };
  await s.call("POST", "/api/v1/namespaces/default/services", { metadata: { name: "hook" }, spec });
  const slice = await s.call("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
    metadata: { name: "hook-1", labels: { "kubernetes.io/service-name": "hook" } },
    addressType: "IPv4",
    ports: [{ name: "", port: hook.port }],
    endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }],
  });
  assert.equal(slice.code, 201, slice.text);
  const service = { namespace: "default", name: "hook" };
  await configure(s, "validating", { svc: { clientConfig: { service, caBundle: base64(authority.cert) } } });
  assert.match((await create(s, "a")).text, /no endpoints available for service \\"hook\\"/);
});

test("calls, refusals and what was let pass are counted under upstream's names", async () => {
  const metrics = new MetricRegistry();
  await using hook = await startWebhook(answering((_, { url }) => ({ allowed: !url.startsWith("/no") })));
  await using s = await startServer(metrics);
  await configure(s, "validating", {
    yes: { clientConfig: at(hook) },
    dead: { clientConfig: { url: "https://127.0.0.1:1" }, failurePolicy: "Ignore" },
  });
  await create(s, "a");
  await configure(s, "validating", { no: { clientConfig: at(hook, "/no") } });
  await create(s, "b");
  const text = await metrics.text();
  const prefix = "apiserver_admission_webhook";
  for (const line of [
    `${prefix}_request_total{code="200",name="yes.example.com",operation="CREATE",rejected="false",type="validating"} 2`,
    `${prefix}_request_total{code="400",name="no.example.com",operation="CREATE",rejected="true",type="validating"} 1`,
    `${prefix}_rejection_count{error_type="no_error",name="no.example.com",operation="CREATE",rejection_code="400",type="validating"} 1`,
    `${prefix}_fail_open_count{name="dead.example.com",type="validating"} 2`,
    `${prefix}_admission_duration_seconds_count{name="yes.example.com",operation="CREATE",rejected="false",type="validating"} 2`,
  ])
    assert.ok(
      text.includes(line),
      `${line} is missing in\n${text
        .split("\n")
        .filter((one) => one.startsWith(prefix))
        .join("\n")}`,
    );
});
