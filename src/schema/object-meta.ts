// What every object has: its name and its life. Kept in this layer because every kind contains it.
import { bool, fieldsV1, int32, int64, list, map, ref, string, time } from "./field.ts";
import type { Infer } from "./infer.ts";
import { struct } from "./struct.ts";

export const OwnerReference = struct(
  "meta/v1.OwnerReference",
  {
    apiVersion: string(5, "Group and version of the owner.").required(),
    kind: string(1, "Kind of the owner.").required(),
    name: string(3, "Name of the owner.").required(),
    uid: string(4, "Uid of the owner: a new object of the same name is not the owner.").required(),
    controller: bool(6, "Whether the owner manages this object; at most one owner does.").pointer(),
    blockOwnerDeletion: bool(7, "Whether a foreground deletion of the owner waits for this object.").pointer(),
  },
  { doc: "An object that this one depends on: when all owners are gone, this one is deleted.", atomic: true },
);
export interface OwnerReference extends Infer<typeof OwnerReference> {}

export const ManagedFieldsEntry = struct(
  "meta/v1.ManagedFieldsEntry",
  {
    manager: string(1, "Who wrote these fields."),
    operation: string(2, "How they were written: Apply or Update."),
    apiVersion: string(3, "The version of the object the field names belong to."),
    time: time(4, "When the set of fields last changed.").pointer(),
    fieldsType: string(6, "The format of the set; FieldsV1 is the only one."),
    fieldsV1: fieldsV1(7, "The set of fields, as a tree.").pointer(),
    subresource: string(8, "The subresource they were written through, if any."),
  },
  { doc: "The fields that one manager owns." },
);
export interface ManagedFieldsEntry extends Infer<typeof ManagedFieldsEntry> {}

const InitializerResult = struct("meta/v1.InitializerResult", {
  status: string(2, "Failure, if the object cannot be initialized."),
  message: string(3, "Why, for people."),
  reason: string(4, "Why, in one word."),
  code: int32(6, "The code of the answer to whoever waits for the object."),
});
const Initializer = struct("meta/v1.Initializer", { name: string(1, "Who has to act.").required() });

/** Of Kubernetes v1.7 to v1.13, whose Initializers are Status and two structs of these numbers. */
const Initializers = struct("meta/v1.Initializers", {
  pending: list(1, Initializer, "Who has still to act, the next one first.").keyedBy("name"),
  result: ref(2, InitializerResult, "Set if the object cannot be initialized: it is deleted.").pointer(),
});
export interface Initializers extends Infer<typeof Initializers> {}

export const ObjectMeta = struct(
  "meta/v1.ObjectMeta",
  {
    name: string(1, "Unique among the objects of one kind and namespace; cannot change."),
    generateName: string(2, "With no name given, the server appends a random suffix to this."),
    namespace: string(3, "The namespace the object lives in; cannot change."),
    selfLink: string(4, "No longer set by any server."),
    uid: string(5, "Tells this object from all others, past and future; set by the server."),
    resourceVersion: string(
      6,
      "The revision that last changed the object; an update that carries an old one is refused.",
    ),
    generation: int64(7, "Counts the changes of what is wanted, not of what is."),
    creationTimestamp: time(8, "When the server created the object.").omitZero(),
    deletionTimestamp: time(
      9,
      "When the object is due to go; set by the server when a deletion is graceful or finalizers remain.",
    ).pointer(),
    deletionGracePeriodSeconds: int64(10, "Seconds the object was given to end by itself.").pointer(),
    labels: map(11, "string", "Short names and values to select objects by."),
    annotations: map(12, "string", "Names and values for tools; not selected by."),
    ownerReferences: list(13, OwnerReference, "What this object depends on.").keyedBy("uid"),
    finalizers: list(14, "string", "Who must act before the object may be removed.").asSet().patch("merge"),
    initializers: ref(16, Initializers, "Who must act before others see the object.").pointer().unpublished(),
    managedFields: list(
      17,
      ManagedFieldsEntry,
      "Which manager owns which fields; kept by the server. Sent empty, it makes the server forget them all.",
    ).keepsEmpty(),
  },
  { doc: "What all objects have." },
);

/** As seen by those who read objects: whatever the server sets is there. */
export interface ObjectMeta extends Infer<typeof ObjectMeta> {}

const ShardInfo = struct("meta/v1.ShardInfo", { selector: string(1, "Which part of the list this is.").required() });

export const ListMeta = struct(
  "meta/v1.ListMeta",
  {
    selfLink: string(1, "No longer set by any server."),
    resourceVersion: string(2, "The revision the list shows."),
    continue: string(3, "Pass this to get the following page."),
    remainingItemCount: int64(4, "How many items lie behind this page, where that is known.").pointer(),
    shardInfo: ref(5, ShardInfo, "Set when only a part of the objects was asked for.").off("ShardedListAndWatch"),
  },
  { doc: "What all lists have." },
);
export interface ListMeta extends Infer<typeof ListMeta> {}
