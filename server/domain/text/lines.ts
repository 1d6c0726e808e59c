/** Bytes of plaintext in each chunk of a file in the age format but the last. */
export const CHUNK_BYTES = 65_536;
