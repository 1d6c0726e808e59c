import { describe, expect, test } from 'bun:test';
import { signatureOf } from '../helpers/webhook.ts';
import type { Kind } from './orders.ts';
import type { Arrival, Move } from './party.ts';
import { type Evidence, findViolations, type Job, type Told } from './verdict.ts';

const ID = 'id-1';
const SECRET = 'secret of the webhook';

function arrival(path: string, at: number, move: Move, body: string, signed = SECRET): Arrival {
  const headers = [
    ['webhook-timestamp', '7'],
    ['webhook-signature', signatureOf(signed, ID, '7', Buffer.from(body))],
  ] as const;
  const request = {
    ...{ method: 'POST', target: path, path, head: '', headers },
    body: Buffer.from(body),
  };
  const header = (name: string): string | undefined => headers.find(([found]) => found === name)?.[1];
  const made = { path, n: 1, request, header, at, move };
  return move.kind === 'reply' ? { ...made, repliedAt: at + 1 } : made;
}
function sentTo(...moves: (Move | number)[]): Arrival[] {
  return moves.map((move, n) => {
    const made = typeof move === 'number' ? ({ kind: 'reply', status: move, body: 'x' } as const) : move;
    return arrival('/target/a', 10 + 1_000 * n, made, 'body');
  });
}
function told(tells: Told, ...statuses: number[]): Arrival[] {
  return statuses.map((status, n) =>
    arrival('/hook/a', 5_000 + 10 * n, { kind: 'reply', status }, JSON.stringify({ label: 'a', ...tells })),
  );
}
const OK: Told = { status_code: 200, body: 'x' };
const UNKNOWN: Told = { code: 'outcome_unknown' };
const RESET: Move = { kind: 'reset' };

function jobOf(kind: Kind, changes: Partial<Job>): Job {
  return {
    order: { label: 'a', kind, attempts: 3, maxAttempts: 3, secret: SECRET, atMs: 0 },
    ...{ id: ID, since: 0, accepted: true },
    ...{ sent: sentTo(200), told: told(OK, 200), ...changes },
  };
}
function judged(kind: Kind, changes: Partial<Job>, rest: Partial<Evidence> = {}): string[] {
  const job = jobOf(kind, changes);
  return findViolations({
    ...{ jobs: [job], kills: [], refused: 0, stored: new Set() },
    billed: { proxy_attempt: job.sent.length, network_token: 0 },
    left: { jobs: 0, queued: 0 },
    ...rest,
  });
}

describe('the verdict', () => {
  test.each<[string, Kind, Partial<Job>, Partial<Evidence>]>([
    ['one reply, told once', 'post', {}, {}],
    ['replies that ask for more', 'post', { sent: sentTo(503, 429, 200) }, {}],
    ['an unknown outcome that is said', 'post', { sent: sentTo(RESET), told: told(UNKNOWN, 200) }, {}],
    ['one that is repeated where it may be', 'put', { sent: sentTo(RESET, 200) }, {}],
    ['a reply that was lost in a kill', 'post', { told: told(UNKNOWN, 200) }, { kills: [15] }],
    ['a request that was lost in a kill', 'post', { sent: [], told: told(UNKNOWN, 200) }, { kills: [5] }],
    ['a webhook given up', 'post', { told: told(OK, 500, 500, 500) }, {}],
    ['a call that was lost in a kill', 'post', { told: told(OK, 500, 500) }, { kills: [5_005] }],
    ['a 200 that was lost in a kill', 'post', { told: told(OK, 200, 200) }, { kills: [5_005] }],
  ])('takes %s', (_, kind, changes, rest) => {
    expect(judged(kind, changes, rest)).toEqual([]);
  });

  test.each<[string, Kind, Partial<Job>, Partial<Evidence>, RegExp]>([
    ['a POST sent again', 'post', { sent: sentTo(RESET, 200) }, { kills: [15] }, /after an unknown outcome/],
    ['a POST paid twice', 'post', { sent: sentTo(200, 200) }, { kills: [15] }, /after a final reply/],
    ['a PUT sent again for nothing', 'put', { sent: sentTo(200, 200) }, {}, /behind a final reply/],
    [
      'a repeat without a pause',
      'post',
      { sent: [...sentTo(429), ...sentTo(200).map((call) => ({ ...call, at: 900 }))] },
      {},
      /sent again 889 ms after a 429/,
    ],
    ['too many attempts', 'put', { sent: sentTo(503, 503, 503, 200) }, {}, /4 requests of at most 3/],
    ['nothing told', 'post', { told: [] }, {}, /never called/],
    ['too many calls', 'post', { told: told(OK, 500, 500, 500, 200) }, {}, /4 calls of at most 3/],
    ['a webhook given up early', 'post', { told: told(OK, 500) }, {}, /given up after 1 calls/],
    ['a 200 that did not end it', 'post', { told: told(OK, 200, 200) }, {}, /behind a 200/],
    ['two stories', 'post', { told: [...told(OK, 500), ...told(UNKNOWN, 200)] }, {}, /different things/],
    ['a reply out of thin air', 'post', { sent: [] }, {}, /no target gave/],
    ['another reply', 'post', { told: told({ ...OK, body: 'y' }, 200) }, {}, /another reply/],
    ['success of what nobody knows', 'post', { sent: sentTo(RESET) }, {}, /gave no reply/],
    ['a needless unknown', 'post', { told: told(UNKNOWN, 200) }, {}, /nothing was killed/],
    [
      'an unknown outcome told as none',
      'post',
      { sent: sentTo(RESET), told: told({ code: 'target_unreachable' }, 200) },
      {},
      /an unknown outcome told as target_unreachable/,
    ],
    ['another code', 'post', { sent: [], told: told({ code: 'internal' }, 200) }, {}, /told as internal/],
    ['a forged call', 'post', { order: { ...jobOf('post', {}).order, secret: 'no' } }, {}, /not signed/],
    ['an item that is not there', 'token', { sent: [], told: told({}, 200) }, {}, /cannot be opened/],
    ['free attempts', 'post', {}, { billed: { proxy_attempt: 0, network_token: 0 } }, /0 attempts billed/],
    ['a dear one', 'post', {}, { billed: { proxy_attempt: 2, network_token: 0 } }, /2 attempts billed/],
    ['a job left', 'post', {}, { left: { jobs: 1, queued: 0 } }, /1 jobs left/],
    ['a full queue', 'post', {}, { left: { jobs: 0, queued: 1 } }, /1 ids left/],
    ['two ids', 'post', {}, { jobs: [jobOf('post', {}), jobOf('post', { id: 'id-2' })] }, /two ids/],
  ])('does not take %s', (_, kind, changes, rest, violation) => {
    expect(judged(kind, changes, rest).join('\n')).toMatch(violation);
  });
});
