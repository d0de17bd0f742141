// gRPC to a key service over its socket.
import type { Clock } from "#base/clock.ts";
import { socketRpc } from "#base/host/socket-rpc.ts";
import type { KmsService } from "../../encryption/kms-plugin.ts";
import {
  DecryptRequest,
  DecryptResponse,
  EncryptRequest,
  EncryptResponse,
  StatusRequest,
  StatusResponse,
} from "./messages.ts";

export interface KmsEndpoint {
  /** `unix:///run/kms.sock`, or `unix:///@name` for an abstract socket. */
  readonly endpoint: string;
  /** Of each call. */
  readonly timeoutMs: number;
}

export function connectKms({ endpoint, timeoutMs }: KmsEndpoint, clock: Clock): KmsService {
  const { call, close } = socketRpc({ endpoint, service: "v2.KeyManagementService", timeoutMs, clock });
  return {
    status: () => call("Status", StatusRequest, StatusResponse, {}),
    encrypt: (uid, plaintext) => call("Encrypt", EncryptRequest, EncryptResponse, { plaintext, uid }),
    async decrypt(uid, { ciphertext, keyId, annotations }) {
      const draft = { ciphertext, uid, keyId, annotations };
      return (await call("Decrypt", DecryptRequest, DecryptResponse, draft)).plaintext;
    },
    close,
  };
}
