import { VaultError } from '../../core/errors.ts';
import { nearestOf } from './nearest.ts';

/** A name that a message may repeat: no value, and nothing that could be part of a card number. */
const SHOWN = /^(?!.*\d{6})[A-Za-z_][\w.-]{0,63}$/;
/** Whether a message may repeat a name that a caller chose. */
export function isShownName(name: string): boolean {
  return SHOWN.test(name);
}

/** How many known names a message lists where none is near. */
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

/** The error for a name that is not among those known at a place (`query`, `body.webhook`); it names the nearest of them. */
export function unknownName(
  place: string,
  name: string,
  known: readonly string[],
  elsewhere?: NamesElsewhere,
): VaultError {
  return isShownName(name)
    ? new VaultError('unknown_parameter', {
        field: `${place}.${name}`,
        expected: adviceOf(name, known, elsewhere),
      })
    : new VaultError('unknown_parameter', { field: place, expected: 'has a name that is not known here' });
}
