/** Whether the page around may use an endpoint: its maker may have named the origins of such pages. */
import { members } from '../base/config.ts';
import type { Frame } from '../frame/frame.ts';
import type { CallFailure, Outcome } from './submit.ts';

/** The page around a form or field. */
export type PageAround = Pick<Frame, 'framed' | 'origin'>;

/** What a form asks before it works. */
export interface Admission {
  /** True if there is a page around. */
  readonly isFramed: boolean;
  /** The state of the endpoint for the page around, asked once. */
  readonly admit: () => Promise<Outcome>;
}

export const ORIGIN_NOT_ALLOWED = 'origin_not_allowed';

const REFUSED: CallFailure = {
  status: 0,
  code: ORIGIN_NOT_ALLOWED,
  error: 'The endpoint was not made for the page around.',
};

/** The state of an endpoint, or the failure of a page around whose origin it does not name; `api` is the service itself. */
export async function admitted(state: Outcome, around: PageAround, api: string): Promise<Outcome> {
  const origins = 'failure' in state || !around.framed ? undefined : members(state.reply)['origins'];
  if (!Array.isArray(origins)) {
    return state;
  }
  const origin = await around.origin();
  return `${api}/`.startsWith(`${origin}/`) || origins.includes(origin) ? state : { failure: REFUSED };
}

/** Asks once; again after any failure but that of the page around, which stays. */
export function askOnce(ask: () => Promise<Outcome>): () => Promise<Outcome> {
  let asked: Promise<Outcome> | undefined;
  return () => {
    asked ??= ask().then((outcome) => {
      const isFinal = !('failure' in outcome) || outcome.failure.code === ORIGIN_NOT_ALLOWED;
      asked = isFinal ? asked : undefined;
      return outcome;
    });
    return asked;
  };
}
