// Who one is and by which way the server is reached: credential plugins, OpenID Connect, proxies, names of certificates.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Socket, type Server as SocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { Certificates } from "#cluster/certificates.ts";
import { Running, run } from "./running.ts";

class Place implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-credentials-"));
  readonly #servers: SocketServer[] = [];
  readonly asked: IncomingMessage[] = [];

  async listen<S extends SocketServer>(server: S): Promise<number> {
    this.#servers.push(server);
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return (server.address() as AddressInfo).port;
  }

  /** A server that answers every request with an empty list, or as told. */
  serve(answer: (asked: IncomingMessage, response: ServerResponse) => void = list): Promise<number> {
    return this.listen(
      createHttpServer((asked, response) => {
        this.asked.push(asked);
        answer(asked, response);
      }),
    );
  }

  program(name: string, script: string): string {
    const path = join(this.folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  config(server: string, user: object, cluster: object = {}): string {
    const path = join(this.folder, "config");
    writeFileSync(
      path,
      JSON.stringify({
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server, ...cluster } }],
        users: [{ name: "u", user }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    return path;
  }

  run(line: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const home = {
      HOME: this.folder,
      PATH: `${this.folder}:${process.env.PATH}`,
      KUBECONFIG: join(this.folder, "config"),
    };
    return run(line, { env: { ...home, ...env }, cwd: this.folder });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      if ("closeAllConnections" in server) (server as unknown as Server).closeAllConnections();
      server.close();
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const list = (_asked: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.end('{"kind":"List","apiVersion":"v1","items":[]}');
};

const raw = ["get", "--raw", "/x"];
const credential = (version: string, status: object) =>
  JSON.stringify({ kind: "ExecCredential", apiVersion: `client.authentication.k8s.io/${version}`, status });
const exec = (command: string, more: object = {}) => ({
  exec: { command, apiVersion: "client.authentication.k8s.io/v1", interactiveMode: "IfAvailable", ...more },
});

test("a credential plugin of either version gives a token, and is told of the cluster if it wants to know", async () => {
  await using place = new Place();
  const port = await place.serve();
  for (const version of ["v1", "v1beta1"]) {
    place.program(
      "helper",
      `echo "$KUBERNETES_EXEC_INFO" > info; echo "$A $1" >&2; echo '${credential(version, { token: `t-${version}` })}'`,
    );
    const apiVersion = `client.authentication.k8s.io/${version}`;
    const more = { apiVersion, args: ["arg"], env: [{ name: "A", value: "set" }], provideClusterInfo: true };
    const extensions = [{ name: "client.authentication.k8s.io/exec", extension: { audience: "x" } }];
    place.config(`http://127.0.0.1:${port}`, exec("helper", more), { extensions });
    const { code, stderr } = await place.run(raw);
    assert.deepEqual([code, stderr], [0, "set arg\n"]);
    assert.equal(place.asked.at(-1)?.headers.authorization, `Bearer t-${version}`);
    assert.deepEqual(JSON.parse(readFileSync(join(place.folder, "info"), "utf8")), {
      kind: "ExecCredential",
      apiVersion,
      spec: { interactive: false, cluster: { server: `http://127.0.0.1:${port}`, config: { audience: "x" } } },
    });
  }
});

test("a plugin is asked once, and again when its token has expired or was refused", async () => {
  await using place = new Place();
  let refusals = 1;
  const port = await place.serve((asked, response) => {
    if (refusals-- > 0) {
      response.writeHead(401);
      response.end();
    } else list(asked, response);
  });
  const count = () => readFileSync(join(place.folder, "runs"), "utf8").length;
  place.program("helper", `printf x >> runs; echo '${credential("v1", { token: "t" })}'`);
  const path = place.config(`http://127.0.0.1:${port}`, exec("helper"));
  const env = { HOME: place.folder, PATH: `${place.folder}:${process.env.PATH}`, KUBECONFIG: path };
  await using proxy = new Running(["proxy", "--port=0"], { env, cwd: place.folder });
  const [, at] = await proxy.until(/Starting to serve on (\S+)\n/);
  const codes: number[] = [];
  for (let i = 0; i < 4; i++) codes.push((await fetch(`http://${at}/x`, { headers: { host: "localhost" } })).status);
  assert.deepEqual([codes, count()], [[401, 200, 200, 200], 2], "again after the refusal, not for each request");
  const past = credential("v1", { token: "t", expirationTimestamp: "2020-01-01T00:00:00Z" });
  place.program("helper", `printf x >> runs; echo '${past}'`);
  const before = count();
  await using other = new Running(["proxy", "--port=0"], { env, cwd: place.folder });
  const [, there] = await other.until(/Starting to serve on (\S+)\n/);
  for (let i = 0; i < 3; i++) await fetch(`http://${there}/x`);
  assert.equal(count() - before, 3, "once for each request");
});

test("what is wrong with a plugin is told", async () => {
  await using place = new Place();
  const port = await place.serve();
  const told = async (user: object) => {
    place.config(`http://127.0.0.1:${port}`, user);
    const { code, stderr } = await place.run(raw);
    assert.equal(code, 1, stderr);
    return stderr;
  };
  const printing = (text: string) => exec(place.program("helper", `echo '${text}'`));
  assert.match(
    await told(exec("no-such-helper", { installHint: "buy one" })),
    /executable no-such-helper not found[\s\S]*buy one\n$/,
  );
  assert.match(await told(exec(place.program("bad", "exit 3"))), /executable .*bad failed with exit code 3\n$/);
  assert.match(await told(printing("nothing")), /decoding stdout/);
  assert.match(
    await told(printing(credential("v1beta1", { token: "t" }))),
    /configured to use API version .*v1, plugin returned version .*v1beta1/,
  );
  assert.match(await told(printing(credential("v1", {}))), /didn't return a token or cert\/key pair/);
  assert.match(await told(printing(credential("v1", { clientKeyData: "x" }))), /only certificate or key, not both/);
  assert.match(await told(exec("x", { apiVersion: "client.authentication.k8s.io/v1alpha1" })), /invalid apiVersion/);
  assert.match(await told(exec("x", { interactiveMode: "Always" })), /standard input is not a terminal/);
  assert.match(await told(exec("x", { interactiveMode: "Sometimes" })), /unknown interactiveMode: "Sometimes"/);
  assert.match(await told({ "auth-provider": { name: "gcp" } }), /no Auth Provider found for name "gcp"/);
  assert.equal(place.asked.length, 0, "nothing was asked without credentials");
});

test("preferences decide which plugins may run", async () => {
  await using place = new Place();
  const port = await place.serve();
  const helper = place.program("helper", `echo '${credential("v1", { token: "t" })}'`);
  place.config(`http://127.0.0.1:${port}`, exec("helper"));
  const withPolicy = (policy: object) => {
    const path = join(place.folder, "rc");
    writeFileSync(path, JSON.stringify({ apiVersion: "kubectl.config.k8s.io/v1beta1", kind: "Preference", ...policy }));
    return place.run(raw, { KUBERC: path });
  };
  assert.match(
    (await withPolicy({ credentialPluginPolicy: "DenyAll" })).stderr,
    /not allowed: policy set to "DenyAll"/,
  );
  const allowing = (command: string) => ({
    credentialPluginPolicy: "Allowlist",
    credentialPluginAllowlist: [{ command }],
  });
  assert.match((await withPolicy(allowing("other"))).stderr, /not permitted by the credential plugin allowlist/);
  assert.match((await withPolicy(allowing("/elsewhere/helper"))).stderr, /not permitted/);
  assert.equal((await withPolicy(allowing("helper"))).code, 0);
  assert.equal((await withPolicy(allowing(helper))).code, 0);
});

test("a token of an OpenID Connect provider is renewed, and kept", async () => {
  await using place = new Place();
  const token = (exp: number) => `e30.${Buffer.from(JSON.stringify({ exp })).toString("base64url")}.s`;
  const fresh = token(4_000_000_000);
  let asked = "";
  const issuer: number = await place.serve((request, response) => {
    if (request.url === "/.well-known/openid-configuration") {
      response.end(JSON.stringify({ token_endpoint: `http://127.0.0.1:${issuer}/token` }));
      return;
    }
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      asked = `${request.headers.authorization} ${body}`;
      response.end(JSON.stringify({ id_token: fresh, refresh_token: "next" }));
    });
  });
  const server = await place.serve();
  const config = {
    "idp-issuer-url": `http://127.0.0.1:${issuer}`,
    "client-id": "me",
    "client-secret": "s",
    "refresh-token": "r",
  };
  const provider = (more: object) => ({ "auth-provider": { name: "oidc", config: { ...config, ...more } } });
  const path = place.config(`http://127.0.0.1:${server}`, provider({ "id-token": token(1) }));
  const { code, stderr } = await place.run(raw);
  assert.equal(code, 0, stderr);
  assert.equal(asked, `Basic ${Buffer.from("me:s").toString("base64")} grant_type=refresh_token&refresh_token=r`);
  assert.equal(place.asked.at(-1)?.headers.authorization, `Bearer ${fresh}`);
  assert.match(readFileSync(path, "utf8"), new RegExp(`id-token"?: "?${fresh.replaceAll(".", "\\.")}`));
  asked = "";
  assert.equal((await place.run(raw)).code, 0);
  assert.equal(asked, "", "what was kept is used");
  place.config(`http://127.0.0.1:${server}`, provider({ "refresh-token": "" }));
  assert.match((await place.run(raw)).stderr, /No valid id-token, and cannot refresh without refresh-token/);
});

/** Passes connections on and remembers where they went. */
function connectProxy(seen: string[]): Server {
  const server = createHttpServer();
  server.on("connect", (request, client: Socket) => {
    seen.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    const [host, port] = (request.url ?? "").split(":");
    const onward = connect(Number(port), host === "server.test" ? "127.0.0.1" : (host ?? ""), () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      client.pipe(onward).pipe(client);
    });
    for (const socket of [client, onward]) socket.on("error", () => socket.destroy());
  });
  return server;
}

/** A SOCKS5 server that knows one user. */
const socksProxy = (seen: string[]): SocketServer =>
  createServer(async (client) => {
    client.on("error", () => client.destroy());
    const parts: Buffer[] = [];
    const next = () => new Promise<Buffer>((done) => client.once("data", (part) => done(part as Buffer)));
    parts.push(await next());
    client.write(Uint8Array.of(5, 2));
    const login = await next();
    const size = login[1] ?? 0;
    const user = `${login.subarray(2, 2 + size)}:${login.subarray(3 + size)}`;
    client.write(Uint8Array.of(1, user === "me:secret" ? 0 : 1));
    if (user !== "me:secret") {
      client.end();
      return;
    }
    const request = await next();
    const host = request.subarray(5, 5 + (request[4] ?? 0)).toString();
    const port = request.readUInt16BE(request.length - 2);
    seen.push(`${host}:${port}`);
    const onward = connect(port, "127.0.0.1", () => {
      client.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
      client.pipe(onward).pipe(client);
    });
    onward.on("error", () => client.destroy());
  });

test("a server is reached through proxies, by TLS, under the name its certificate has", async () => {
  await using place = new Place();
  const certificates = new Certificates(join(place.folder, "pki"), systemClock);
  const { cert: ca } = certificates.authority();
  const serving = certificates.issue("server", { commonName: "server", hosts: ["server.test"] });
  const asked: string[] = [];
  const server = createHttpsServer(serving, (request, response) => {
    asked.push(request.url ?? "");
    list(request, response);
  });
  const port = await place.listen(server);
  const authority = { "certificate-authority-data": Buffer.from(ca).toString("base64") };

  place.config(`https://127.0.0.1:${port}`, { token: "t" }, authority);
  const unnamed = await place.run(raw);
  assert.match(unnamed.stderr, /^Unable to connect to the server: /, "the certificate is for another name");
  assert.equal((await place.run([...raw, "--tls-server-name=server.test"])).code, 0);
  assert.equal((await place.run([...raw, "--insecure-skip-tls-verify"])).code, 0);

  const seen: string[] = [];
  const httpPort = await place.listen(connectProxy(seen));
  place.config(`https://server.test:${port}`, { token: "t" }, authority);
  const viaEnvironment = await place.run(raw, { HTTPS_PROXY: `http://me:secret@127.0.0.1:${httpPort}` });
  assert.equal(viaEnvironment.code, 0, viaEnvironment.stderr);
  assert.deepEqual(seen, [`server.test:${port} Basic ${Buffer.from("me:secret").toString("base64")}`]);
  seen.length = 0;
  const excluded = await place.run(raw, { HTTPS_PROXY: `http://127.0.0.1:${httpPort}`, NO_PROXY: ".test" });
  assert.deepEqual([excluded.code, seen], [1, []], "there is no such host without the proxy");

  const socksPort = await place.listen(socksProxy(seen));
  const socks = (user: string) => ({ ...authority, "proxy-url": `socks5://${user}@127.0.0.1:${socksPort}` });
  place.config(`https://server.test:${port}`, { token: "t" }, socks("me:secret"));
  const viaSocks = await place.run(raw);
  assert.equal(viaSocks.code, 0, viaSocks.stderr);
  assert.deepEqual(seen, [`server.test:${port}`]);
  place.config(`https://server.test:${port}`, { token: "t" }, socks("me:wrong"));
  assert.match((await place.run(raw)).stderr, /username\/password authentication failed/);
  assert.equal(asked.length, 4);
});

test("a server that hangs, cuts its answer, or lies about it is told of, and nothing is left open", async () => {
  await using place = new Place();
  const told = async (answer: (asked: IncomingMessage, response: ServerResponse) => void, ...line: string[]) => {
    const port = await place.serve(answer);
    const { code, stderr, stdout } = await place.run([...line, "-s", `http://127.0.0.1:${port}`], {
      KUBECONFIG: "/dev/null",
    });
    assert.notEqual(code, 0, stdout);
    return stderr;
  };
  assert.match(
    await told(() => undefined, "get", "pods", "--request-timeout=200ms"),
    /request canceled|Client\.Timeout/,
  );
  const cut = (_asked: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("{");
    setImmediate(() => response.destroy());
  };
  assert.match(await told(cut, ...raw), /connection reset/);
  assert.match(await told((_asked, response) => response.end("<html>"), "get", "pods"), /is no JSON: "<html>"/);
  assert.match(await told((_asked, response) => response.writeHead(418).end("tea"), ...raw), /tea|418/);
  const running = new Running([
    "get",
    "--raw",
    "/x",
    "-s",
    `http://127.0.0.1:${await place.serve(() => running.interrupt())}`,
  ]);
  assert.equal(await running.code, 130);
});
