// The API of key services, version 2, and how values are stored that were encrypted with their help. Numbers as in
// staging/src/k8s.io/kms/apis/v2/api.proto and staging/src/k8s.io/apiserver/pkg/storage/value/encrypt/envelope/kmsv2/v2/api.proto.
import { bytes, type DecodedMessage, int, many, message, text } from "#base/host/protobuf.ts";

const Annotation = message("Annotation", { key: text(1), value: bytes(2) });

export const StatusRequest = message("StatusRequest", {});
export const StatusResponse = message("StatusResponse", { version: text(1), healthz: text(2), keyId: text(3) });
export const DecryptRequest = message("DecryptRequest", {
  ciphertext: bytes(1),
  uid: text(2),
  keyId: text(3),
  annotations: many(4, Annotation),
});
export const DecryptResponse = message("DecryptResponse", { plaintext: bytes(1) });
export const EncryptRequest = message("EncryptRequest", { plaintext: bytes(1), uid: text(2) });
export const EncryptResponse = message("EncryptResponse", {
  ciphertext: bytes(1),
  keyId: text(2),
  annotations: many(3, Annotation),
});

/** What the service's answer decrypts to: the key of the data itself, or the seed that keys are made of. */
export const keySource = { aesGcmKey: 0, seed: 1 } as const;

export const EncryptedObject = message("EncryptedObject", {
  encryptedData: bytes(1),
  keyId: text(2),
  ciphertext: bytes(3),
  annotations: many(4, Annotation),
  keySource: int(5),
});
export type EncryptedObject = DecodedMessage<typeof EncryptedObject>;
