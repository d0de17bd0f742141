// Who is who over the wire: certificates, tokens and impersonation, by an unmodified kubectl and by plain requests.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { makeCertificate } from "#cluster/certificate-maker.ts";
import { Certificates } from "#cluster/certificates.ts";
import { identityOptions, usualIdentity } from "#cluster/identity-options.ts";
import { kubeconfig } from "#cluster/kubeconfig.ts";
import { httpsFront } from "#serving/host/https/front.ts";

const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;
const withKubectl = { skip: hasKubectl ? false : "kubectl is not installed" };

/** A server that authorizes by Node and RBAC, with the certificates of its administrator. */
async function world(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "identity-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const certificates = new Certificates(folder, systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("serving", { commonName: "server", hosts: ["127.0.0.1"] });
  const admin = certificates.issue("admin", { commonName: "admin", organizations: ["system:masters"] });
  const tokenFile = join(folder, "tokens.csv");
  writeFileSync(tokenFile, 'bobs,bob,7,"devs"\n');
  const identity = identityOptions({ ...usualIdentity(folder), "token-auth-file": tokenFile }, ca);
  const server = await testServer({
    ...identity,
    bootstrapPolicy: true,
    authorizers: ({ node, rbac }) => [node, rbac],
  });
  t.after(() => server[Symbol.asyncDispose]());
  const front = httpsFront({ ...serving, clientCa: ca, handler: server.server.handle, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  t.after(() => front.close(1000));
  const url = `https://127.0.0.1:${port}`;
  const config = join(folder, "kubeconfig");
  writeFileSync(config, kubeconfig("test", url, ca, admin));
  const kubectl = (...args: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      const child = spawn("kubectl", args, { env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: config } });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", (text: string) => (output += text));
      child.on("error", reject).on("close", () => resolve(output));
    });
  return { folder, ca, admin, url, port, kubectl };
}

const self = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const impersonating = { "impersonate-user": "ann", "impersonate-group": ["a,b", "c"] };

test("who shows a certificate that is not good is refused, unless a token is", async (t) => {
  const { ca, admin, port, folder } = await world(t);
  const others = new Certificates(join(folder, "others"), systemClock);
  others.authority();
  const past = new Date("2020-01-02T00:00:00Z");
  const authority = new Certificates(folder, systemClock).authority();
  const bad = {
    "of another authority": others.issue("admin", { commonName: "admin", organizations: ["system:masters"] }),
    "out of date": makeCertificate(
      authority,
      { commonName: "admin", organizations: ["system:masters"] },
      { notBefore: new Date("2020-01-01T00:00:00Z"), notAfter: past },
    ),
    "of a server": new Certificates(folder, systemClock).issue("web", { commonName: "admin", hosts: ["web"] }),
  };
  const code = (client: { readonly cert?: string; readonly key?: string }, headers: Record<string, string> = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { port, host: "127.0.0.1", path: "/version", ca, ...client, headers, agent: false };
      const sent = request(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on("error", reject).end();
    });
  for (const [what, client] of Object.entries(bad)) {
    assert.equal(await code(client), 401, what);
    assert.equal(await code(client, { authorization: "Bearer bobs" }), 200, `${what}, with a token`);
  }
  assert.equal(await code(admin), 200);
  assert.equal(await code({}), 200, "a stranger may ask for the version");
});

test("each value of a header that comes several times is one group, in HTTP/1.1 and HTTP/2", async (t) => {
  const { ca, admin, url, port } = await world(t);
  const session = connect(url, { ca, ...admin });
  t.after(() => session.close());
  const json = { "content-type": "application/json" };
  const overHttp2 = await new Promise<string>((resolve, reject) => {
    const stream = session.request({ ":method": "POST", ":path": self, ...json, ...impersonating });
    let text = "";
    stream.setEncoding("utf8").on("data", (part: string) => (text += part));
    stream.on("end", () => resolve(text)).on("error", reject);
    stream.end("{}");
  });
  const overHttp1 = await new Promise<string>((resolve, reject) => {
    const options = {
      port,
      host: "127.0.0.1",
      path: self,
      method: "POST",
      ca,
      ...admin,
      headers: { ...json, ...impersonating },
    };
    const sent = request(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => resolve(text));
    });
    sent.on("error", reject).end("{}");
  });
  for (const text of [overHttp2, overHttp1])
    assert.deepEqual(JSON.parse(text).status.userInfo, {
      username: "ann",
      groups: ["a,b", "c", "system:authenticated"],
    });
});

test("kubectl makes tokens, shows who it is, acts as others and asks what it may do", withKubectl, async (t) => {
  const { folder, ca, url, kubectl } = await world(t);
  const caFile = join(folder, "ca-only.crt");
  writeFileSync(caFile, ca);
  const anyone = join(folder, "nobody");
  writeFileSync(anyone, "");
  const withToken = (token: string, ...args: readonly string[]) =>
    kubectl("--kubeconfig", anyone, "--server", url, "--certificate-authority", caFile, "--token", token, ...args);
  assert.equal(statSync(join(folder, "sa.key")).mode & 0o777, 0o600);
  assert.match(readFileSync(join(folder, "sa.key"), "utf8"), /BEGIN PRIVATE KEY/);

  assert.match(await kubectl("auth", "whoami"), /Username +admin\nGroups +\[system:masters system:authenticated\]/);
  assert.match(
    await kubectl("auth", "whoami", "--as=ann", "--as-group=a"),
    /Username +ann\nGroups +\[a system:authenticated\]/,
  );
  assert.equal(await kubectl("create", "serviceaccount", "robot"), "serviceaccount/robot created\n");
  const token = (await kubectl("create", "token", "robot")).trim();
  assert.match(await withToken(token, "auth", "whoami"), /Username +system:serviceaccount:default:robot\n/);
  const refused =
    'Error from server (Forbidden): secrets is forbidden: User "system:serviceaccount:default:robot" cannot list resource "secrets" in API group "" in the namespace "default"\n';
  assert.equal(await withToken(token, "get", "secrets"), refused);
  await kubectl("create", "role", "reader", "--verb=get,list", "--resource=secrets");
  await kubectl("create", "rolebinding", "reader", "--role=reader", "--serviceaccount=default:robot");
  assert.equal(await withToken(token, "get", "secrets"), "No resources found in default namespace.\n");
  assert.equal(await withToken(token, "auth", "can-i", "list", "secrets"), "yes\n");
  assert.equal(await withToken(token, "auth", "can-i", "list", "secrets", "-n", "kube-system"), "no\n");
  const list = await withToken(token, "auth", "can-i", "--list");
  assert.match(list, /secrets +\[\] +\[\] +\[get list\]/);
  assert.doesNotMatch(list, /incomplete/);
  await kubectl("delete", "serviceaccount", "robot");
  assert.equal(await withToken(token, "get", "secrets"), "error: You must be logged in to the server (Unauthorized)\n");

  assert.match(
    await withToken("bobs", "auth", "whoami"),
    /Username +bob\nUID +7\nGroups +\[devs system:authenticated\]/,
  );
  assert.equal(
    await withToken("bobs", "get", "pods", "--as=ann"),
    'Error from server (Forbidden): pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "default"\n',
  );
});
