/** Counts of records by kind and by the ring key that they are sealed under. */
export type MutableKeyCounts = Record<string, Record<string, number>>;

/** Counts one record of a kind; `keyId` undefined: under no key of the ring. */
export function countKey(counts: MutableKeyCounts, kind: string, keyId: string | undefined): void {
  const ofKind = counts[kind] ?? {};
  counts[kind] = ofKind;
  const id = keyId ?? '?';
  ofKind[id] = (ofKind[id] ?? 0) + 1;
}
