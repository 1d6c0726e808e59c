/** The revision of an account's record that was removed: none that is there is as new. */
export const REVISION_GONE: number = Number.MAX_SAFE_INTEGER;
