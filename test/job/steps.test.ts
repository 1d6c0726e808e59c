/** How a job ends whose reply cannot be shown. */
import { expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { type StepParts, sendStep } from '../../server/job/steps.ts';
import type { StoredJob } from '../../server/job/store/jobs.ts';

const SEALED = new Uint8Array([1]);

/** The parts of a job whose third party answers; `seal` seals its report. */
function partsWith(seal: StepParts['crypto']['sealReport']) {
  const reports: unknown[] = [];
  const parts = {
    crypto: {
      openJob: async () => ({ facts: { account: 'shop', attempts: 1, what: 'post' } }),
      sealReport: seal,
    },
    jobStore: {
      startAttempt: async () => true,
      startReport: async (_aid: string, _id: string, _flight: string, report: unknown) =>
        reports.push(report) > 0,
    },
    keyStore: { isGone: async () => false },
    accounts: { lookUp: async () => ({ aid: 'a', name: 'shop' }) },
    sending: {
      admit: async () => undefined,
      attempt: async () => ({ ok: true, status: 200, headers: [], body: SEALED }),
      judge: () => ({ kind: 'reply' }),
      conclude: async () => ({ outcome: { kind: 'reply', statusCode: 200, headers: [] }, bytes: SEALED }),
    },
    recordEvent: () => undefined,
    now: () => 0,
    randomId: () => 'nonce',
    unsent: new Set<string>(),
  };
  return { parts: parts as unknown as StepParts, reports };
}

test('a reply that is too complex to show is reported as that failure, once', async () => {
  const sealed: unknown[] = [];
  const { parts, reports } = partsWith(async ({ outcome }) => {
    sealed.push(outcome);
    if (outcome.kind !== 'failure') {
      throw new VaultError('reply_too_complex');
    }
    return SEALED;
  });
  const stored = { phase: 'send', attempts: 0, flight: '', sent: false } as StoredJob;
  expect(await sendStep(parts, { aid: 'a', id: 'job' }, stored)).toBe(0);
  expect(sealed.at(-1)).toEqual({ kind: 'failure', code: 'reply_too_complex' });
  expect(reports).toEqual([
    { record: SEALED, outcome: 'failed', entry: { ms: expect.any(Number), status: 200 } },
  ]);
});
