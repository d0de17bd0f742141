// A key service for tests: a real gRPC server on a socket, whose keys and faults the test sets.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Server, ServerCredentials, type sendUnaryData, status } from "@grpc/grpc-js";
import type { ProtobufMessage } from "#base/host/protobuf.ts";
import {
  DecryptRequest,
  DecryptResponse,
  EncryptRequest,
  EncryptResponse,
  StatusRequest,
  StatusResponse,
} from "../host/kms/messages.ts";

type Method = "Status" | "Encrypt" | "Decrypt";

/** What a call is answered instead: an error, nothing at all, or another message. */
export type KmsFault = "refuse" | "hang" | "garbage";

export class TestKms implements AsyncDisposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "knarr-kms-"));
  readonly #keys = new Map<string, Buffer>();
  readonly #faults = new Map<Method, KmsFault>();
  readonly calls: Record<Method, number> = { Status: 0, Encrypt: 0, Decrypt: 0 };
  #server: Server | undefined;
  keyId = "";
  healthz = "ok";
  version = "v2";
  /** Named by Encrypt instead of the key that Status names. */
  encryptKeyId: string | undefined;
  annotations: readonly { readonly key: string; readonly value: Uint8Array }[] = [];

  get endpoint(): string {
    return `unix://${join(this.#folder, "kms.sock")}`;
  }

  get isDown(): boolean {
    return this.#server === undefined;
  }

  static async start(): Promise<TestKms> {
    const kms = new TestKms();
    kms.rotate("1");
    await kms.listen();
    return kms;
  }

  /** From now on the service encrypts with another key; it still decrypts with the ones before. */
  rotate(keyId: string): void {
    this.keyId = keyId;
    this.#keys.set(keyId, randomBytes(32));
  }

  forget(keyId: string): void {
    this.#keys.delete(keyId);
  }

  fault(method: Method, fault: KmsFault | undefined): void {
    if (fault) this.#faults.set(method, fault);
    else this.#faults.delete(method);
  }

  async listen(): Promise<void> {
    const server = new Server();
    server.addService(
      {
        Status: this.#method("Status", StatusRequest, StatusResponse),
        Encrypt: this.#method("Encrypt", EncryptRequest, EncryptResponse),
        Decrypt: this.#method("Decrypt", DecryptRequest, DecryptResponse),
      },
      {
        Status: this.#handler("Status", () => ({ version: this.version, healthz: this.healthz, keyId: this.keyId })),
        Encrypt: this.#handler("Encrypt", ({ plaintext }: { plaintext: Uint8Array }) => ({
          ciphertext: this.#seal(plaintext),
          keyId: this.encryptKeyId ?? this.keyId,
          annotations: this.annotations,
        })),
        Decrypt: this.#handler("Decrypt", ({ ciphertext, keyId }: { ciphertext: Uint8Array; keyId: string }) => ({
          plaintext: this.#open(ciphertext, keyId),
        })),
      },
    );
    await new Promise<void>((resolve, reject) =>
      server.bindAsync(this.endpoint, ServerCredentials.createInsecure(), (error) =>
        error ? reject(error) : resolve(),
      ),
    );
    this.#server = server;
  }

  /** As if its process were killed. */
  down(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.down();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #method<D, T>(name: Method, request: ProtobufMessage<D, unknown>, response: ProtobufMessage<unknown, T>) {
    return {
      path: `/v2.KeyManagementService/${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: () => Buffer.alloc(0),
      requestDeserialize: (bytes: Buffer) => request.decode(bytes),
      responseSerialize: (answer: T) =>
        this.#faults.get(name) === "garbage" ? Buffer.from([0xff, 0xff, 0xff]) : Buffer.from(response.encode(answer)),
      responseDeserialize: () => undefined,
    };
  }

  #handler<D, T>(name: Method, answer: (request: D) => T) {
    return ({ request }: { request: D }, respond: sendUnaryData<T>): void => {
      this.calls[name]++;
      const fault = this.#faults.get(name);
      if (fault === "hang") return;
      try {
        if (fault === "refuse") throw new Error("out of order");
        respond(null, answer(request));
      } catch (error) {
        respond({ code: status.INTERNAL, details: error instanceof Error ? error.message : String(error) });
      }
    };
  }

  #seal(plaintext: Uint8Array): Buffer {
    const nonce = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", this.#keyOf(this.keyId), nonce);
    return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
  }

  #open(ciphertext: Uint8Array, keyId: string): Buffer {
    const bytes = Buffer.from(ciphertext);
    const decipher = createDecipheriv("aes-256-gcm", this.#keyOf(keyId), bytes.subarray(0, 12), { authTagLength: 16 });
    decipher.setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]);
  }

  #keyOf(keyId: string): Buffer {
    const key = this.#keys.get(keyId);
    if (!key) throw new Error(`unknown key ${keyId}`);
    return key;
  }
}
