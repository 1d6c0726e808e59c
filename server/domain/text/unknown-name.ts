import { editsBetween } from '../../core/edits.ts';
import { type ErrorCode, VaultError } from '../../core/errors.ts';

/** Names that a message may repeat: no values, and no parts of card numbers. */
const SHOWN = /^(?!.*\d(?:[_.-]?\d){5})[A-Za-z_][\w.-]{0,63}$/;

/** Tells whether a message may repeat a name that a caller chose. */
export function isShownName(name: string): boolean {
  return SHOWN.test(name);
}

/** The most known names that a message lists if none is near. */
const LISTED_MAX = 12;

/** Names that belong elsewhere in a request, such as `the query`. */
export interface NamesElsewhere {
  readonly place: string;
  readonly names: readonly string[];
}

function adviceOf(name: string, known: readonly string[], elsewhere: NamesElsewhere | undefined): string {
  if (elsewhere?.names.includes(name)) {
    return `is not known here: it belongs in ${elsewhere.place}`;
  }
  const near = nearestOf(name, [...known, ...(elsewhere?.names ?? [])]);
  if (near !== undefined) {
    const where = known.includes(near) ? '' : `, in ${elsewhere?.place}`;
    return `is not known here: did you mean \`${near}\`${where}?`;
  }
  const isListed = known.length > 0 && known.length <= LISTED_MAX;
  return isListed
    ? `is not known here, only ${known.map((each) => `\`${each}\``).join(', ')}`
    : 'is not known here';
}

/** The place of a member whose name the caller chose: with its name if a message may repeat that, otherwise its parent. */
export function placeOf(parent: string, name: string): string {
  return isShownName(name) ? `${parent}.${name}` : parent;
}

/** The error for an unknown name at a place (`query`, `body.webhook`), with advice. */
export function unknownName(
  place: string,
  name: string,
  known: readonly string[],
  elsewhere?: NamesElsewhere,
  code: Extract<ErrorCode, 'unknown_parameter' | 'invalid_request'> = 'unknown_parameter',
): VaultError {
  const expected = isShownName(name) ? adviceOf(name, known, elsewhere) : 'has a name that is not known here';
  return new VaultError(code, { field: placeOf(place, name), expected });
}

/** The most edits between a name and the known one that was probably meant. */
const EDITS_MAX = 2;

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '');
}

/** The nearest of `names` to a name of at most 64 characters; undefined if none is near. */
export function nearestOf(name: string, names: Iterable<string>): string | undefined {
  const wanted = plain(name);
  let best: string | undefined;
  // Less than half of a short name may differ.
  let fewest = Math.min(EDITS_MAX, Math.ceil(wanted.length / 2) - 1) + 1;
  for (const candidate of wanted.length > 64 ? [] : names) {
    const other = plain(candidate);
    // Each edit changes the length by one at most, and counting edits is slow.
    const isFar = Math.abs(other.length - wanted.length) >= fewest;
    const edits = isFar ? fewest : editsBetween(wanted, other);
    if (edits < fewest) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}
