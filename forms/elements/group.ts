/**
 * The fields of one group find each other inside the vault's own origin: a window can reach the windows beside it, and
 * look into those of its own origin alone. So what was typed goes from frame to frame and never through the page around.
 */
import { newKey } from '../fields/random.ts';
import { type AttemptKeys, isSettled } from '../page/submit.ts';

/** A field, for the other frames of its group. */
export interface Member {
  readonly group: string;
  readonly unique_id: string;
  readonly secret: string;
  readonly field: string;
  /** The value as it was typed. */
  readonly read: () => string;
  readonly posted: () => Readonly<Record<string, string>>;
  /** Shows what is wrong; false if something is. */
  readonly check: () => boolean;
  readonly clear: () => void;
  /** Whether this one sends for the group. It says so of itself alone: when its frame dies, nobody is sending any more. */
  isSending: boolean;
  /** What was sent without a reply, and its idempotency key: all keep it, so that any of them can repeat it. */
  attempt: Attempt | undefined;
}

/** A body, and the key that it was sent with. */
export interface Attempt {
  readonly body: string;
  readonly key: string;
  /** What was sent in place of the body, once it was sealed. */
  readonly sealed?: string | undefined;
}

/** A window with a field, or any other. */
interface ElementWindow {
  readonly vaultElement?: Member;
}

/** More frames than a page has for a checkout. */
const FRAMES_MAX = 64;

/** What is used of the window around: its frames, by their place. */
export interface Around {
  readonly length: number;
  readonly [place: number]: ElementWindow;
}

/** The field in a window; undefined where it may not be looked into, since it has another origin. */
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
 * What all of them post, or why they cannot: they are sending already, one is there twice, they are not exactly the fields
 * that the page has mounted, of which one may still be loading, or one is wrong.
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
  // Every field shows what is wrong with it, not the first alone.
  const wrong = members.filter((member) => !member.check());
  return wrong.length > 0
    ? { code: 'form_invalid' }
    : { posted: Object.assign({}, ...members.map((member) => member.posted())) };
}

/**
 * The keys of a group's attempts: that of an earlier attempt with the same body, whichever of them sent it. All keep it, so
 * that any of them can repeat the same bytes.
 */
export function attemptsOf(members: readonly Member[]): AttemptKeys {
  let open: Attempt | undefined;
  const keep = (attempt: Attempt | undefined): void => {
    open = attempt;
    for (const member of members) {
      member.attempt = attempt;
    }
  };
  return {
    keyFor: (body) => {
      const kept = members.map(({ attempt }) => attempt).find((attempt) => attempt?.body === body);
      const attempt = kept ?? { body, key: newKey() };
      keep(attempt);
      return attempt.key;
    },
    get sealed() {
      return open?.sealed;
    },
    set sealed(sealed) {
      keep(open && { ...open, sealed });
    },
    settle: (outcome) => {
      if (isSettled(outcome)) {
        keep(undefined);
      }
    },
    forget: () => keep(undefined),
  };
}
