// Upstream: pkg/registry/core/node/strategy.go.
import type { Strategy } from "../registry/strategy.ts";

export const node: Strategy = {
  // A kubelet registers with the status it has.
  keepsStatusOnCreate: true,
  /** Settings that kubelets once took from the API and no longer do. */
  prepareForCreate(object) {
    delete object.spec?.configSource;
    delete object.status?.config;
  },
  prepareForUpdate(object, old) {
    if (old.spec?.configSource === undefined) delete object.spec?.configSource;
  },
  prepareForStatusUpdate(object, old) {
    if (old.status.config === undefined) delete object.status.config;
  },
};
