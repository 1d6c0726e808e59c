import { editsBetween } from '../../core/edits.ts';

/** How many edits a name may be away from the one that was probably meant. */
const EDITS_MAX = 2;

/** A name without case and separators. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '');
}

/** The one of `names` that comes nearest to a name of at most 64 characters; undefined when none is near. */
export function nearestOf(name: string, names: Iterable<string>): string | undefined {
  const wanted = plain(name);
  let best: string | undefined;
  // Of a short name, less than half may differ.
  let fewest = Math.min(EDITS_MAX, Math.ceil(wanted.length / 2) - 1) + 1;
  for (const candidate of wanted.length > 64 ? [] : names) {
    const other = plain(candidate);
    // Each edit changes the length by one at most, and counting them takes long.
    const isFar = Math.abs(other.length - wanted.length) >= fewest;
    const edits = isFar ? fewest : editsBetween(wanted, other);
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}
