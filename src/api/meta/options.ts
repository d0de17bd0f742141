import { bool, type Infer, int64, list, ref, string, struct, typeMeta } from "#schema/index.ts";

export const CreateOptions = struct("meta/v1.CreateOptions", {
  ...typeMeta,
  dryRun: list(1, "string"),
  fieldManager: string(3),
  fieldValidation: string(4),
});
export interface CreateOptions extends Infer<typeof CreateOptions> {}

export const Preconditions = struct("meta/v1.Preconditions", {
  uid: string(1).pointer(),
  resourceVersion: string(2).pointer(),
});
export interface Preconditions extends Infer<typeof Preconditions> {}

export const DeleteOptions = struct("meta/v1.DeleteOptions", {
  ...typeMeta,
  gracePeriodSeconds: int64(1).pointer(),
  preconditions: ref(2, Preconditions),
  orphanDependents: bool(3).pointer(),
  propagationPolicy: string(4).pointer(),
  dryRun: list(5, "string"),
  ignoreStoreReadErrorWithClusterBreakingPotential: bool(6).pointer(),
});
export interface DeleteOptions extends Infer<typeof DeleteOptions> {}

export const GetOptions = struct("meta/v1.GetOptions", {
  ...typeMeta,
  resourceVersion: string(1),
});
export interface GetOptions extends Infer<typeof GetOptions> {}

export const ListOptions = struct("meta/v1.ListOptions", {
  ...typeMeta,
  labelSelector: string(1),
  fieldSelector: string(2),
  watch: bool(3),
  allowWatchBookmarks: bool(9),
  resourceVersion: string(4),
  resourceVersionMatch: string(10),
  timeoutSeconds: int64(5).pointer(),
  limit: int64(7),
  continue: string(8),
  sendInitialEvents: bool(11).pointer(),
  shardSelector: string(15).off("ShardedListAndWatch"),
});
export interface ListOptions extends Infer<typeof ListOptions> {}

export const PatchOptions = struct("meta/v1.PatchOptions", {
  ...typeMeta,
  dryRun: list(1, "string"),
  force: bool(2).pointer(),
  fieldManager: string(3),
  fieldValidation: string(4),
});
export interface PatchOptions extends Infer<typeof PatchOptions> {}

export const UpdateOptions = struct("meta/v1.UpdateOptions", {
  ...typeMeta,
  dryRun: list(1, "string"),
  fieldManager: string(2),
  fieldValidation: string(3),
});
export interface UpdateOptions extends Infer<typeof UpdateOptions> {}
