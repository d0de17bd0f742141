// How large an object may be: as large as etcd takes one by default. Every watcher gets all of an object, and whoever changes it reads
// all of it.
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { tooLargeToStore } from "#wire/status.ts";

const mostBytes = 1.5 * 1024 * 1024;
/** The largest object must be able to say that it is being deleted. */
const deletionBytes = 1024;

/** The bytes of the object, if it may be stored. Throws ApiError. */
export function storable({ metadata }: ApiObject | DraftObject, bytes: Uint8Array): Uint8Array {
  if (bytes.length > mostBytes + (metadata.deletionTimestamp === undefined ? 0 : deletionBytes))
    throw tooLargeToStore();
  return bytes;
}

/**
 * Refuses early what could never be stored: before its fields are tracked and checked, which takes longer the larger it is. A dry run
 * is refused, too, where upstream would not come as far as its store.
 */
export function refuseTooLarge(object: DraftObject): void {
  if (JSON.stringify(object).length > mostBytes + deletionBytes) throw tooLargeToStore();
}
