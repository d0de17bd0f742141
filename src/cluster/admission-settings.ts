// The flags that choose and set admission plugins, named as upstream names them.
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { AdmissionSettings } from "#apiserver/admission/configuration.ts";
import { readAdmissionConfiguration } from "#apiserver/admission/configuration-file.ts";
import type { ImagePolicySettings } from "#apiserver/admission/image-policy.ts";
import { kubeconfigWebhook } from "#apiserver/host/kubeconfig-webhook.ts";
import { type ReviewWebhook, reviewWebhook } from "#apiserver/webhook/review.ts";
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { FlagValues } from "#cli/flags.ts";

export const pluginFlags = {
  "enable-admission-plugins": {
    type: "strings",
    value: "NAMES",
    help: "Admission plugins to run besides those that run anyway",
  },
  "disable-admission-plugins": {
    type: "strings",
    value: "NAMES",
    help: "Admission plugins not to run; ServiceAccount refuses pods where no controller makes service accounts",
  },
} as const;

export const admissionFlags = {
  ...pluginFlags,
  "admission-control-config-file": { type: "string", value: "FILE", help: "Settings of admission plugins" },
  "default-not-ready-toleration-seconds": {
    type: "int",
    default: 300,
    help: "How long pods stay on a node that is not ready, unless they say",
  },
  "default-unreachable-toleration-seconds": {
    type: "int",
    default: 300,
    help: "How long pods stay on a node that is not heard of, unless they say",
  },
  "ir-percentile": {
    type: "int",
    default: 90,
    help: "How many of a hundred measurements an estimate of InitialResources covers",
  },
  "ir-namespace-only": {
    type: "bool",
    default: false,
    help: "Whether InitialResources estimates from what the same namespace used alone",
  },
} as const;

/** Files that a configuration names are meant from where it stands. */
const imageReviewBeside =
  (file: string) =>
  ({ kubeconfig, retryMs }: ImagePolicySettings): ReviewWebhook => {
    const { post } = kubeconfigWebhook(resolve(dirname(file), kubeconfig), systemClock);
    return reviewWebhook({ post, timeoutMs: imageReviewMs, clock: systemClock, retryMs });
  };
const imageReviewMs = 10_000;

export function admissionSettings(settings: FlagValues<typeof admissionFlags>): AdmissionSettings {
  const file = settings["admission-control-config-file"];
  const read = (path: string, from?: string) =>
    readFileSync(from === undefined ? path : resolve(dirname(from), path), "utf8");
  const percentile = settings["ir-percentile"];
  if (percentile < 1 || percentile > 100)
    throw new UsageError(`--ir-percentile: must be a number from 1 to 100, not ${percentile}`);
  return {
    enable: settings["enable-admission-plugins"],
    disable: settings["disable-admission-plugins"],
    tolerationSeconds: {
      notReady: settings["default-not-ready-toleration-seconds"],
      unreachable: settings["default-unreachable-toleration-seconds"],
    },
    initialResources: { percentile, isNamespaceOnly: settings["ir-namespace-only"] },
    ...(file !== undefined && readAdmissionConfiguration(file, read, imageReviewBeside(file))),
  };
}
