import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { fromBase64 } from "#base/base64.ts";
import type { Initializer } from "./initializer.ts";

/** Puts a proxy beside the containers of every pod. */
export const sidecar: Initializer = {
  name: "sidecar.initializers.example.com",
  kind: Pod,
  act: (pod) => ({
    ...pod,
    spec: { ...pod.spec, containers: [...pod.spec.containers, { name: "proxy", image: "envoyproxy/envoy:v1.35" }] },
  }),
};

const leastBytes = 8;

/** Takes no passwords that are too short. */
export const passwordLength: Initializer = {
  name: "length.initializers.example.com",
  kind: Secret,
  act(secret) {
    const password: string | undefined = secret.data?.password;
    if (password === undefined || (fromBase64(password)?.length ?? 0) >= leastBytes) return secret;
    return `password is shorter than ${leastBytes} bytes`;
  },
};
