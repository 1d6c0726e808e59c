/** How many edits a name may be away from the one that was probably meant. */
const EDITS_MAX = 2;

/** A name without case and separators. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '');
}

/** The number of inserted, removed, replaced and exchanged characters between two texts. */
function editsBetween(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const edits = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isExchanged = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(isExchanged ? Math.min(edits, (before[j - 2] ?? 0) + 1) : edits);
    }
    before = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** The one of `names` that comes nearest to a name of at most 64 characters; undefined when none is near. */
export function nearestOf(name: string, names: Iterable<string>): string | undefined {
  const wanted = plain(name);
  let best: string | undefined;
  // Of a short name, less than half may differ.
  let fewest = Math.min(EDITS_MAX, Math.ceil(wanted.length / 2) - 1) + 1;
  for (const candidate of wanted.length > 64 ? [] : names) {
    const edits = editsBetween(wanted, plain(candidate));
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}
