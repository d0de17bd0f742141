// Why a patch cannot be applied or made.

/** What the server answers: the patch is not understood, is too large, or does not fit the object. */
export type PatchErrorCode = 400 | 413 | 422;

/** A patch that is refused, in upstream's words. */
export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly code: PatchErrorCode;

  constructor(code: PatchErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** What is wanted and what someone else has changed since do not go together. */
export class PatchConflictError extends Error {
  override readonly name = "PatchConflictError";

  constructor(patch: unknown, changes: unknown) {
    super(
      `patch:\n${JSON.stringify(patch, null, 2)}\nconflicts with changes made from original to current:\n${JSON.stringify(changes, null, 2)}\n`,
    );
  }
}
