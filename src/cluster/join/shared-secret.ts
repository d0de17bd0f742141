import { bootstrapTokenNamespace } from "#rules/bootstrap-tokens.ts";

/** The Secret by which control planes get what they need; kubeadm's has the same name. */
export const sharedSecret = { namespace: bootstrapTokenNamespace, name: "kubeadm-certs" };
