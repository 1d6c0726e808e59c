/**
 * The fields of one group find each other inside the vault's own origin: a window can reach the windows beside it, and
 * look into those of its own origin alone. So what was typed goes from frame to frame and never through the page around.
 */

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
  /** Whether one of the group is sending; all are told. */
  isSending: boolean;
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

/** What all of them post, or why they cannot: one is wrong, one is there twice, or they are sending already. */
export function collect(
  members: readonly Member[],
): { readonly posted: Record<string, string> } | { readonly code: string } {
  if (members.some(({ isSending }) => isSending)) {
    return { code: 'elements_sending' };
  }
  if (new Set(members.map(({ field }) => field)).size < members.length) {
    return { code: 'elements_duplicate' };
  }
  // Every field shows what is wrong with it, not the first alone.
  const wrong = members.filter((member) => !member.check());
  return wrong.length > 0
    ? { code: 'form_invalid' }
    : { posted: Object.assign({}, ...members.map((member) => member.posted())) };
}
