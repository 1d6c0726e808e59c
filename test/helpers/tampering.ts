/** The bytes with one bit of the byte at `at` changed. */
export function flip(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
  return changed;
}

/** Ways to change a record, each with what it becomes; one bit of every third byte is flipped, or of more. */
export function changesOf(bytes: Buffer, step = 3): readonly (readonly [string, Buffer])[] {
  return [
    ...Array.from(
      { length: Math.ceil(bytes.length / step) },
      (_, n) => [`byte ${step * n}`, flip(bytes, step * n)] as const,
    ),
    ['the last byte', flip(bytes, bytes.length - 1)],
    ['nothing left', Buffer.alloc(0)],
    ['one byte left', bytes.subarray(0, 1)],
    ['half of it', bytes.subarray(0, bytes.length >> 1)],
    ['all but one byte', bytes.subarray(0, -1)],
    ['one byte more', Buffer.concat([bytes, Buffer.of(0)])],
    ['twice', Buffer.concat([bytes, bytes])],
    ['zeros', Buffer.alloc(bytes.length)],
    ['text', Buffer.from('{"number":"4111111111111111"}')],
  ];
}
