// The flags that say how the store is encrypted, named as upstream names them.
import { EncryptionFile, type EncryptionFileOptions, unencrypted } from "#apiserver/host/encryption-file.ts";
import { UsageError } from "#base/errors.ts";
import type { FlagValues } from "#cli/flags.ts";
import type { HealthCheck } from "#serving/health.ts";
import type { StoreEngine } from "#store/engine.ts";

export const encryptionFlags = {
  "encryption-provider-config": {
    type: "string",
    value: "FILE",
    help: "EncryptionConfiguration: which resources are encrypted in the store, and with what",
  },
  "encryption-provider-config-automatic-reload": {
    type: "bool",
    default: false,
    help: "Read that file again when it changes",
  },
} as const;

type EncryptionSettings = FlagValues<typeof encryptionFlags>;

type EncryptionWorldOptions = Omit<EncryptionFileOptions, "path" | "reloads">;

export interface EncryptedStore {
  readonly store: StoreEngine;
  readonly healthChecks: readonly HealthCheck[];
}

/** Opens a store and encrypts it as the flags say. Throws UsageError, and an Error that says what is wrong with the file. */
export async function openEncrypted(
  settings: EncryptionSettings,
  world: EncryptionWorldOptions,
  open: () => Promise<StoreEngine>,
): Promise<EncryptedStore> {
  const { around, healthChecks, close } = await encryptionOf(settings, world);
  try {
    return { store: around(await open()), healthChecks };
  } catch (error) {
    close();
    throw error;
  }
}

async function encryptionOf(
  settings: EncryptionSettings,
  world: EncryptionWorldOptions,
): Promise<Pick<EncryptionFile, "around" | "healthChecks" | "close">> {
  const path = settings["encryption-provider-config"];
  const reloads = settings["encryption-provider-config-automatic-reload"];
  if (path === undefined) {
    if (reloads)
      throw new UsageError(
        "--encryption-provider-config-automatic-reload must be set with --encryption-provider-config",
      );
    return unencrypted;
  }
  try {
    return await EncryptionFile.open({ ...world, path, reloads });
  } catch (cause) {
    throw new Error("--encryption-provider-config", { cause });
  }
}
