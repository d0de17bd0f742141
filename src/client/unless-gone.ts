import { isNotFound } from "#base/errors.ts";

/** Awaits a write and ignores NotFound: the object may have been deleted meanwhile. */
export async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
