/** The prefix of a log entry on its way to the store: the length of the preceding log, and its last 16 bytes. */
export const NAMED_BYTES = 20;

/** An entry as the store takes it. Without a log it names none. */
export function naming(
  entry: Uint8Array,
  { logLength, logTail }: { readonly logLength: number; readonly logTail: Uint8Array } = {
    logLength: 0,
    logTail: new Uint8Array(16),
  },
): Uint8Array {
  const named = new Uint8Array(NAMED_BYTES);
  new DataView(named.buffer).setUint32(0, logLength, true);
  named.set(logTail, 4);
  return Buffer.concat([named, entry]);
}

/** The entry as it is stored. */
export function entryOf(given: Uint8Array): Uint8Array {
  return given.subarray(NAMED_BYTES);
}
