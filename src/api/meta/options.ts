import { bool, type Infer, int64, list, ref, string, struct, typeMeta } from "#schema/index.ts";

export const CreateOptions = struct(
  "meta/v1.CreateOptions",
  {
    ...typeMeta,
    dryRun: list(1, "string", "All for a request that is carried out in full, but not stored."),
    fieldManager: string(3, "Who is making the change: the name under which the fields it sets are owned."),
    fieldValidation: string(4, "What to do with fields that are unknown or given twice: Ignore, Warn or Strict."),
  },
  { doc: "How to create an object." },
);
export interface CreateOptions extends Infer<typeof CreateOptions> {}

export const Preconditions = struct(
  "meta/v1.Preconditions",
  {
    uid: string(1, "The uid the object must have.").pointer(),
    resourceVersion: string(2, "The revision the object must have.").pointer(),
  },
  { doc: "What must hold for a change to be made." },
);
export interface Preconditions extends Infer<typeof Preconditions> {}

export const DeleteOptions = struct(
  "meta/v1.DeleteOptions",
  {
    ...typeMeta,
    gracePeriodSeconds: int64(
      1,
      "Seconds the object has to end by itself; 0 deletes at once. Defaults to what the kind says.",
    ).pointer(),
    preconditions: ref(2, Preconditions, "What must hold, or the request is refused."),
    orphanDependents: bool(3, "Old form of propagationPolicy: whether dependents stay.").pointer(),
    propagationPolicy: string(
      4,
      "What becomes of dependents: Orphan leaves them, Background deletes them later, Foreground deletes them first.",
    ).pointer(),
    dryRun: list(5, "string", "All for a request that is carried out in full, but not stored."),
    ignoreStoreReadErrorWithClusterBreakingPotential: bool(
      6,
      "Whether to remove an object that cannot be read from the store, past finalizers and all that depends on it.",
    ).pointer(),
  },
  { doc: "How to delete an object." },
);
export interface DeleteOptions extends Infer<typeof DeleteOptions> {}

export const GetOptions = struct(
  "meta/v1.GetOptions",
  {
    ...typeMeta,
    resourceVersion: string(1, "How old the answer may be: at least this revision, 0 for any."),
  },
  { doc: "How to read an object." },
);
export interface GetOptions extends Infer<typeof GetOptions> {}

export const ListOptions = struct(
  "meta/v1.ListOptions",
  {
    ...typeMeta,
    labelSelector: string(1, "Only objects with these labels."),
    fieldSelector: string(2, "Only objects with these fields."),
    watch: bool(3, "Stream the changes instead of listing."),
    allowWatchBookmarks: bool(9, "Whether the stream may say how far it is by bookmarks."),
    resourceVersion: string(4, "The revision to list at or to watch from."),
    resourceVersionMatch: string(10, "What resourceVersion means to a list: Exact or NotOlderThan."),
    timeoutSeconds: int64(5, "Seconds after which the answer ends, however busy.").pointer(),
    limit: int64(7, "How many objects to return at most; the answer then says how to continue."),
    continue: string(8, "The token of the page before, to get the following one."),
    sendInitialEvents: bool(
      11,
      "Begin a watch with the objects there are, and mark where they end by a bookmark.",
    ).pointer(),
    shardSelector: string(15, "Only objects whose hash is in these ranges.").off("ShardedListAndWatch"),
  },
  { doc: "How to list or watch objects." },
);
export interface ListOptions extends Infer<typeof ListOptions> {}

export const PatchOptions = struct(
  "meta/v1.PatchOptions",
  {
    ...typeMeta,
    dryRun: list(1, "string", "All for a request that is carried out in full, but not stored."),
    force: bool(2, "Whether an apply takes fields over that others own.").pointer(),
    fieldManager: string(
      3,
      "Who is making the change: the name under which the fields it sets are owned. An apply must say it.",
    ),
    fieldValidation: string(4, "What to do with fields that are unknown or given twice: Ignore, Warn or Strict."),
  },
  { doc: "How to patch an object." },
);
export interface PatchOptions extends Infer<typeof PatchOptions> {}

export const UpdateOptions = struct(
  "meta/v1.UpdateOptions",
  {
    ...typeMeta,
    dryRun: list(1, "string", "All for a request that is carried out in full, but not stored."),
    fieldManager: string(2, "Who is making the change: the name under which the fields it sets are owned."),
    fieldValidation: string(3, "What to do with fields that are unknown or given twice: Ignore, Warn or Strict."),
  },
  { doc: "How to replace an object." },
);
export interface UpdateOptions extends Infer<typeof UpdateOptions> {}
