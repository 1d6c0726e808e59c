/** Counts of records by kind and, of each kind, by the master key that they are sealed under. */
export interface KeyTally {
  readonly counts: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** `keyId` undefined: none of the ring's. */
  readonly add: (kind: string, keyId: string | undefined, count: number) => void;
  readonly addAll: (counts: KeyTally['counts']) => void;
  /** Records of all kinds that are not under this key. */
  readonly notUnder: (keyId: string) => number;
}

/** The name of whatever key is none of the ring's. */
export const UNKNOWN_KEY = '?';

export function createKeyTally(): KeyTally {
  const counts: Record<string, Record<string, number>> = {};
  const add: KeyTally['add'] = (kind, keyId = UNKNOWN_KEY, count) => {
    const ofKind = counts[kind] ?? {};
    counts[kind] = ofKind;
    ofKind[keyId] = (ofKind[keyId] ?? 0) + count;
  };
  return {
    counts,
    add,
    addAll(more) {
      for (const [kind, ofKind] of Object.entries(more)) {
        for (const [keyId, count] of Object.entries(ofKind)) {
          add(kind, keyId, count);
        }
      }
    },
    notUnder: (keyId) =>
      Object.values(counts)
        .flatMap((ofKind) => Object.entries(ofKind))
        .reduce((sum, [id, count]) => sum + (id === keyId ? 0 : count), 0),
  };
}
