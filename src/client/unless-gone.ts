import { isNotFound } from "#base/errors.ts";

/** Waits for a write to an object that may be gone by then, which is fine. */
export async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
