// A real gRPC service on a socket that signs tokens, and what the server makes of it when it does not do as it should.
import assert from "node:assert/strict";
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Server, ServerCredentials, type sendUnaryData } from "@grpc/grpc-js";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import type { ProtobufMessage } from "#base/host/protobuf.ts";
import { silentLog } from "#base/log.ts";
import { testServer } from "../testing.ts";
import {
  externalSigner,
  KeysRequest,
  KeysResponse,
  MetadataRequest,
  MetadataResponse,
  SignRequest,
  SignResponse,
  signerService,
} from "./external-signer.ts";

interface SignerKey {
  readonly keyId: string;
  readonly privateKey: KeyObject;
  readonly key: Uint8Array;
  readonly isUnpublished: boolean;
}

function newKey(keyId: string, isUnpublished = false): SignerKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { keyId, privateKey, key: publicKey.export({ type: "spki", format: "der" }), isUnpublished };
}

const first = newKey("first");

/** A signer, whose keys and faults the test sets. */
class TestSigner {
  readonly folder = mkdtempSync(join(tmpdir(), "knarr-signer-"));
  readonly server = new Server();
  keys: readonly SignerKey[] = [first];
  signing: SignerKey = first;
  header: object = {};
  maxSeconds = 7200;
  refreshSeconds = 300;
  reads = 0;

  get endpoint(): string {
    return `unix://${join(this.folder, "signer.sock")}`;
  }

  async start(t: TestContext): Promise<this> {
    t.after(() => {
      this.server.forceShutdown();
      rmSync(this.folder, { recursive: true, force: true });
    });
    this.server.addService(
      {
        Sign: method("Sign", SignRequest, SignResponse),
        FetchKeys: method("FetchKeys", KeysRequest, KeysResponse),
        Metadata: method("Metadata", MetadataRequest, MetadataResponse),
      },
      {
        Sign: ({ request }: { request: { claims: string } }, respond: sendUnaryData<object>) =>
          respond(null, this.#sign(request.claims)),
        FetchKeys: (_: unknown, respond: sendUnaryData<object>) => {
          this.reads++;
          respond(null, { keys: this.keys, refreshSeconds: this.refreshSeconds });
        },
        Metadata: (_: unknown, respond: sendUnaryData<object>) => respond(null, { maxSeconds: this.maxSeconds }),
      },
    );
    await new Promise<void>((resolve, reject) =>
      this.server.bindAsync(this.endpoint, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    return this;
  }

  #sign(claims: string): object {
    const { keyId, privateKey } = this.signing;
    const header = Buffer.from(JSON.stringify({ alg: "RS256", kid: keyId, typ: "JWT", ...this.header }));
    const text = header.toString("base64url");
    return { header: text, signature: createSign("sha256").update(`${text}.${claims}`).sign(privateKey, "base64url") };
  }
}

const method = <D, T>(name: string, request: ProtobufMessage<D, never>, response: ProtobufMessage<unknown, T>) => ({
  path: `/${signerService}/${name}`,
  requestStream: false,
  responseStream: false,
  requestSerialize: () => Buffer.alloc(0),
  requestDeserialize: (bytes: Buffer) => request.decode(bytes),
  responseSerialize: (answer: T) => Buffer.from(response.encode(answer)),
  responseDeserialize: () => undefined,
});

function connect(t: TestContext, { endpoint }: TestSigner, clock = new ManualClock(0)) {
  const stop = new AbortController();
  t.after(() => stop.abort(new Error("the test is over")));
  return externalSigner({ endpoint, clock, log: silentLog, signal: stop.signal });
}

const content = (payload: Uint8Array) => JSON.parse(new TextDecoder().decode(payload));

test("tokens are signed by the service, checked with its keys, and good at this server", async (t) => {
  const signer = await new TestSigner().start(t);
  signer.keys = [first, newKey("old", true)];
  const keys = await connect(t, signer);
  const token = await keys.sign({ iss: "https://here", sub: "x" });
  assert.deepEqual(content(await keys.verify(token)), { iss: "https://here", sub: "x" });
  assert.equal(keys.claimedIssuer(token), "https://here");
  assert.deepEqual(
    keys.keySet.keys.map((key) => (key as { readonly kid?: string }).kid),
    ["first"],
  );
  const [head, , signature] = token.split(".");
  const forged = `${head}.${Buffer.from('{"sub":"root"}').toString("base64url")}.${signature}`;
  await assert.rejects(keys.verify(forged), { message: "invalid signature" });

  const issuers = ["https://here"];
  await using server = await testServer({
    serviceAccounts: { keys, issuers, extendExpiration: true },
    audiences: issuers,
  });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
  await server.call("POST", "/api/v1/namespaces/x/serviceaccounts", { metadata: { name: "robot" } });
  const made = await server.call("POST", "/api/v1/namespaces/x/serviceaccounts/robot/token", {});
  assert.equal(made.code, 201, made.text);
  const shown = { authorization: `Bearer ${made.json.status.token}` };
  const self = await server.call("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, shown);
  assert.equal(self.json.status.userInfo.username, "system:serviceaccount:x:robot");
  const published = await server.call("GET", "/openid/v1/jwks");
  assert.deepEqual(published.json, keys.keySet);
  assert.equal(published.headers?.["cache-control"], "public, max-age=300");
});

test("keys are read again when they are old, and when a token names one that is new", async (t) => {
  const signer = await new TestSigner().start(t);
  const clock = new ManualClock(0);
  const keys = await connect(t, signer, clock);
  const old = await keys.sign({ n: 1 });
  const second = newKey("second");
  Object.assign(signer, { keys: [second], signing: second });
  await clock.advance(1000);
  const token = await keys.sign({ n: 2 });
  assert.deepEqual(content(await keys.verify(token)), { n: 2 });
  const { reads } = signer;
  for (let i = 0; i < 20; i++) await assert.rejects(keys.verify(old), { message: "invalid signature, no keys found" });
  assert.equal(signer.reads, reads, "unknown keys must not make us flood the signer");
  signer.keys = [second, newKey("third")];
  await clock.advance(300_000);
  while (keys.keySet.keys.length < 2) await turn();
});

test("a service that does not do as it should is named, and makes no token", async (t) => {
  const signer = await new TestSigner().start(t);
  const keys = await connect(t, signer);
  const hidden = newKey("hidden", true);
  const wrong: readonly (readonly [Partial<TestSigner>, RegExp])[] = [
    [{ header: { typ: "JOSE" } }, /of type "JOSE", not JWT/],
    [{ header: { alg: "none" } }, /signs by "none"/],
    [{ header: { kid: "" } }, /does not say which key/],
    [{ header: { jku: "https://elsewhere" } }, /put "jku" into the header/],
  ];
  for (const [fault, message] of wrong) {
    Object.assign(signer, fault);
    await assert.rejects(keys.sign({}), message);
  }
  Object.assign(signer, { header: {}, keys: [first, hidden], signing: hidden });
  const others = await connect(t, signer);
  await assert.rejects(others.sign({}), /used the key "hidden", which it does not publish/);
  for (const [fault, message] of [
    [{ maxSeconds: 599 }, /cannot be used: tokens live 599 s at most/],
    [{ maxSeconds: 600, refreshSeconds: 0 }, /read again after 0 s/],
    [{ refreshSeconds: 1, keys: [] }, /has no keys/],
    [{ keys: [{ ...first, keyId: "" }] }, /a key whose id is ""/],
    [{ keys: [{ ...first, key: new Uint8Array([1]) }] }, /cannot be used/],
  ] as const) {
    Object.assign(signer, fault);
    await assert.rejects(connect(t, signer), message);
  }
});

test("a service that is not there is waited for, but not without end", async (t) => {
  const absent = new TestSigner();
  t.after(() => rmSync(absent.folder, { recursive: true, force: true }));
  const clock = new ManualClock(0);
  const asked = assert.rejects(connect(t, absent, clock), /deadline exceeded/);
  await clock.advance(60_000);
  await asked;
});
