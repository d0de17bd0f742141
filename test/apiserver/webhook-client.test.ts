// The shared client for webhooks against real servers: where it goes, what it believes, and what it says when something is wrong.
import assert from "node:assert/strict";
import { test } from "node:test";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import {
  WebhookCallError,
  type WebhookCallOptions,
  WebhookClient,
  type WebhookClientConfig,
} from "#apiserver/webhook/client.ts";
import { credentialsFrom } from "#apiserver/webhook/credentials.ts";
import { type Clock, ManualClock, systemClock } from "#base/clock.ts";
import { emptyKubeconfig } from "#client/kubeconfig.ts";
import { notFound } from "#wire/status.ts";
import {
  authority,
  base64,
  clientCertificate,
  otherAuthority,
  startWebhook,
  type TestWebhook,
} from "./webhook-server.ts";

const { signal } = new AbortController();
const caBundle = base64(authority.cert);

function clientTo(hook: TestWebhook | undefined, clock: Clock = systemClock) {
  const transport = webhookConnections();
  const resolve = (namespace: string, name: string, port: number) => {
    if (!hook || `${namespace}/${name}:${port}` !== "default/hook:443")
      throw notFound({ group: "", resource: "service" }, name);
    return { address: "127.0.0.1", port: hook.port };
  };
  const client = new WebhookClient({ transport, clock, endpoints: { resolve } });
  const call = (config: WebhookClientConfig, options: Partial<WebhookCallOptions> = {}, body = "{}") =>
    client.call(config, body, { timeoutMs: 10_000, ...options }, signal);
  return { call, [Symbol.dispose]: () => transport.close() };
}

const failure = (pending: Promise<unknown>): Promise<string> =>
  pending.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (error: unknown) => {
      assert.ok(error instanceof WebhookCallError, String(error));
      return error.message;
    },
  );

test("a webhook is called by URL with JSON, and its JSON is the answer", async () => {
  await using hook = await startWebhook(({ body }) => ({ got: JSON.parse(body) }));
  using client = clientTo(hook);
  const answer = await client.call({ url: `${hook.url}/a/b/`, caBundle }, {}, '{"n":1}');
  assert.deepEqual(answer, { got: { n: 1 } });
  const [call] = hook.calls;
  assert.equal(call?.method, "POST");
  assert.equal(call?.url, "/a/b?timeout=10s");
  assert.equal(call?.headers["content-type"], "application/json");
  assert.equal(call?.headers["content-length"], "7");
  assert.equal(call?.headers["user-agent"], "kube-apiserver-admission");
});

test("a service is dialled at its endpoint, and must show the certificate of its name", async () => {
  await using hook = await startWebhook(({ headers }) => ({ host: headers.host }), { hosts: ["hook.default.svc"] });
  using client = clientTo(hook);
  const service = { namespace: "default", name: "hook", path: "/x" };
  assert.deepEqual(await client.call({ service, caBundle }), { host: "hook.default.svc:443" });
  assert.equal(
    await failure(client.call({ url: hook.url, caBundle })),
    `Post "${hook.url}/?timeout=10s": tls: failed to verify certificate: x509: certificate is valid for hook.default.svc, not 127.0.0.1`,
  );
  assert.equal(
    await failure(client.call({ service: { namespace: "default", name: "nope" }, caBundle })),
    'Post "https://nope.default.svc:443/?timeout=10s": service "nope" not found',
  );
});

test("a webhook's own certificate is bundle enough, as it is for Go", async () => {
  await using hook = await startWebhook(() => ({ ok: true }));
  await using other = await startWebhook(() => ({ ok: false }));
  using client = clientTo(hook);
  assert.deepEqual(await client.call({ url: hook.url, caBundle: base64(hook.cert) }), { ok: true });
  assert.match(
    await failure(client.call({ url: hook.url, caBundle: base64(other.cert) })),
    /x509: certificate signed by unknown authority$/,
  );
});

test("connections are used again, also after the webhook has closed them", async () => {
  await using hook = await startWebhook(({ url }, response) => {
    if (url.startsWith("/last")) response.shouldKeepAlive = false;
    return {};
  });
  using client = clientTo(hook);
  for (let i = 0; i < 5; i++) await client.call({ url: hook.url, caBundle });
  assert.equal(hook.connections, 1);
  await client.call({ url: `${hook.url}/last`, caBundle });
  await client.call({ url: hook.url, caBundle });
  assert.equal(hook.connections, 2);
});

test("a wrong authority, an answer without end and no listener are named in upstream's words", async () => {
  await using hook = await startWebhook(() => ({ much: "x".repeat(10 * 1024 * 1024) }));
  using client = clientTo(hook);
  assert.match(
    await failure(client.call({ url: hook.url, caBundle: base64(otherAuthority.cert) })),
    /^Post "https:\/\/127.0.0.1:\d+\/\?timeout=10s": tls: failed to verify certificate: x509: certificate signed by unknown authority$/,
  );
  assert.match(await failure(client.call({ url: hook.url })), /x509: certificate signed by unknown authority$/);
  assert.match(await failure(client.call({ url: hook.url, caBundle })), /: the answer is longer than 4194304 bytes$/);
  assert.match(
    await failure(client.call({ url: "https://127.0.0.1:1", caBundle })),
    /^Post "https:\/\/127.0.0.1:1\/\?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused$/,
  );
  assert.match(await failure(client.call({})), /^webhook configuration must have either service or URL$/);
});

test("a webhook that does not answer in time is given up", async () => {
  const clock = new ManualClock();
  const reached = Promise.withResolvers<void>();
  await using hook = await startWebhook(() => reached.resolve());
  using client = clientTo(hook, clock);
  const failed = failure(client.call({ url: hook.url, caBundle }, { timeoutMs: 2000 }));
  await reached.promise;
  await clock.advance(2000);
  assert.equal(await failed, `Post "${hook.url}/?timeout=2s": context deadline exceeded`);
});

test("a request that is given up is no failure of the webhook", async () => {
  const reached = Promise.withResolvers<void>();
  await using hook = await startWebhook(() => reached.resolve());
  const transport = webhookConnections();
  const client = new WebhookClient({ transport, clock: systemClock, endpoints: { resolve: () => assert.fail() } });
  const gone = new AbortController();
  const call = client.call({ url: hook.url, caBundle }, "{}", { timeoutMs: 10_000 }, gone.signal);
  await reached.promise;
  const reason = new Error("the client is gone");
  gone.abort(reason);
  await assert.rejects(call, reason);
  transport.close();
});

test("redirects are not followed, and answers that are no success say why", async () => {
  await using elsewhere = await startWebhook(() => ({}), { secure: false });
  const answers: Readonly<Record<string, (response: import("node:http").ServerResponse) => void>> = {
    "/302": (response) => response.writeHead(302, { location: elsewhere.url }).end(),
    "/307": (response) => response.writeHead(307, { location: elsewhere.url }).end(),
    "/404": (response) => response.writeHead(404).end(),
    "/500": (response) => response.writeHead(500, { "content-type": "text/plain" }).end("no\n"),
    "/500-binary": (response) => response.writeHead(500, { "content-type": "image/png" }).end("no"),
    "/403": (response) => response.writeHead(403, { "content-type": "text/plain" }).end("not you"),
    "/status": (response) =>
      response
        .writeHead(429, { "content-type": "application/json" })
        .end(JSON.stringify({ apiVersion: "v1", kind: "Status", status: "Failure", code: 429, message: "later" })),
    "/text": (response) => response.end("hello"),
    "/cut": (response) => {
      response.writeHead(200, { "content-length": 100 });
      response.write("{");
      response.socket?.end();
    },
    "/drop": (response) => response.socket?.destroy(),
  };
  await using hook = await startWebhook(({ url }, response) => {
    answers[url.split("?")[0] ?? ""]?.(response);
  });
  using client = clientTo(hook);
  const said = (path: string) => failure(client.call({ url: hook.url + path, caBundle }));
  assert.equal(await said("/302"), "the server responded with the status code 302 but did not return more information");
  assert.equal(await said("/307"), "the server responded with the status code 307 but did not return more information");
  assert.equal(await said("/404"), "the server could not find the requested resource");
  assert.equal(await said("/500"), 'an error on the server ("no") has prevented the request from succeeding');
  assert.equal(
    await said("/500-binary"),
    'an error on the server ("unknown") has prevented the request from succeeding',
  );
  assert.equal(await said("/403"), "not you");
  assert.equal(await said("/status"), "later");
  assert.equal(
    await said("/text"),
    "couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value",
  );
  assert.match(await said("/cut"), /unexpected EOF$/);
  assert.match(await said("/drop"), /^Post "https:.*": (EOF|read: connection reset by peer)$/);
  assert.deepEqual(elsewhere.calls, []);
});

test("users of a kubeconfig are chosen by the host that is called", async () => {
  const { cert, key } = clientCertificate();
  await using hook = await startWebhook(({ headers }) => ({ by: headers.authorization ?? "certificate" }), {
    asksForCertificate: true,
  });
  using client = clientTo(hook);
  const user = (name: string, more: object = {}) => ({
    name,
    user: { "client-certificate-data": base64(cert), "client-key-data": base64(key), ...more },
  });
  const by = (...users: ReturnType<typeof user>[]) =>
    client.call(
      { service: { namespace: "default", name: "hook" }, caBundle },
      { credentialsOf: credentialsFrom({ ...emptyKubeconfig, users }, () => "read\n") },
    );
  assert.deepEqual(await by(user("*")), { by: "certificate" });
  assert.deepEqual(await by(user("*"), user("*.svc", { token: "t" })), { by: "Bearer t" });
  assert.deepEqual(await by(user("*.svc"), user("hook.default.svc:443", { token: "u" })), { by: "Bearer u" });
  assert.deepEqual(await by(user("hook.default.svc", { username: "a", password: "b" })), { by: "Basic YTpi" });
  assert.deepEqual(await by(user("hook.default.svc", { tokenFile: "/t" })), { by: "Bearer read" });
  assert.match(await failure(by(user("other.svc"))), /^Post "https:\/\/hook.default.svc:443\/\?timeout=10s": /);
});
