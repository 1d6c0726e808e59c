/**
 * The fields of a group find each other in the vault's origin: a window can reach its sibling windows, but read only
 * those of its origin. So values go from frame to frame, and never through the page around.
 */
import { newKey } from '../fields/random.ts';
import { type Attempt, type AttemptKeys, createAttemptKeys } from '../page/submit.ts';

/** A field, for the other frames of its group. */
export interface Member {
  readonly group: string;
  readonly unique_id: string;
  readonly secret: string;
  readonly field: string;
  /** The typed value. */
  readonly read: () => string;
  readonly posted: () => Readonly<Record<string, string>>;
  /** Shows the error; false if there is one. */
  readonly check: () => boolean;
  readonly clear: () => void;
  /** True once the page around is known to be one that may use the endpoint. */
  isAdmitted: boolean;
  /** True while this field sends for the group. Stored in its frame alone, so that it ends with the frame. */
  isSending: boolean;
  /** The attempt without a reply. All fields keep it, so that any of them can repeat it. */
  attempt: Attempt | undefined;
}

/** A window with a field, or any other. */
interface ElementWindow {
  readonly vaultElement?: Member;
}

/** More frames than a page has for a checkout. */
const FRAMES_MAX = 64;

/** The frames of the page around, by their place. */
export interface Around {
  readonly length: number;
  readonly [place: number]: ElementWindow;
}

/** The field in a window; undefined for a window of another origin, which cannot be read. */
function memberIn(frame: ElementWindow | undefined): Member | undefined {
  try {
    return frame?.vaultElement;
  } catch {
    return undefined;
  }
}

/** All fields of the same group and endpoint, with this one, in the order of the page. */
export function membersBeside(own: Member, around: Around): Member[] {
  const frames = Array.from({ length: Math.min(around.length, FRAMES_MAX) }, (_, place) => around[place]);
  return frames
    .map(memberIn)
    .filter((member) => member !== undefined)
    .filter(
      ({ group, unique_id, secret }) =>
        group === own.group && unique_id === own.unique_id && secret === own.secret,
    );
}

function sorted(names: readonly string[]): string {
  return [...names].sort().join(' ');
}

/**
 * The members to post, or an error code: the group is already sending, has a field twice, has other fields than the page
 * has mounted (one may still be loading), or an invalid one.
 */
export function collect(
  members: readonly Member[],
  expected: readonly string[],
): { readonly posted: Record<string, string> } | { readonly code: string } {
  if (members.some(({ isSending }) => isSending)) {
    return { code: 'elements_sending' };
  }
  const names = members.map(({ field }) => field);
  if (new Set(names).size < names.length) {
    return { code: 'elements_duplicate' };
  }
  if (sorted(names) !== sorted(expected)) {
    return { code: 'elements_incomplete' };
  }
  // Every invalid field shows its error, not the first alone.
  const wrong = members.filter((member) => !member.check());
  return wrong.length > 0
    ? { code: 'form_invalid' }
    : { posted: Object.assign({}, ...members.map((member) => member.posted())) };
}

/**
 * The keys of a group's attempts: that of an earlier attempt with the same body, by any of its fields. All fields keep it,
 * so that any of them can repeat the same bytes.
 */
export function attemptsOf(members: readonly Member[]): AttemptKeys {
  return createAttemptKeys(newKey, {
    find: (body) => members.map(({ attempt }) => attempt).find((attempt) => attempt?.body === body),
    keep: (attempt) => {
      for (const member of members) {
        member.attempt = attempt;
      }
    },
  });
}
