/** How a job ends whose reply cannot be shown. */
import { expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import type { Crypto } from '../../server/crypto/client.ts';
import { JobSteps } from '../../server/job/steps.ts';
import type { StoredJob } from '../../server/job/store/jobs.ts';

const SEALED = new Uint8Array([1]);

/** The steps of a job whose third party answers; `seal` seals its report. */
function stepsWith(seal: Crypto['sealReport']) {
  const reports: unknown[] = [];
  const jobStore = {
    startAttempt: async () => true,
    startReport: async (_aid: string, _id: string, _flight: string, report: unknown) =>
      reports.push(report) > 0,
  };
  const crypto = {
    openJob: async () => ({ facts: { account: 'shop', attempts: 1, what: 'post' } }),
    sealReport: seal,
  };
  const sender = {
    admit: async () => undefined,
    attempt: async () => ({ ok: true, status: 200, headers: [], body: SEALED }),
    judge: () => ({ kind: 'reply' }),
    conclude: async () => ({ outcome: { kind: 'reply', statusCode: 200, headers: [] }, bytes: SEALED }),
  };
  const keyStore = { isGone: async () => false };
  const accounts = { lookUp: async () => ({ aid: 'a', name: 'shop' }) };
  const settings = [() => undefined, () => 0, () => 'nonce', () => 0];
  const given = [jobStore, keyStore, crypto, {}, accounts, sender, {}, ...settings];
  const steps = new JobSteps(...(given as unknown as ConstructorParameters<typeof JobSteps>));
  return { steps, reports };
}

test('a reply that is too complex to show is reported as that failure, once', async () => {
  const sealed: unknown[] = [];
  const { steps, reports } = stepsWith(async ({ outcome }) => {
    sealed.push(outcome);
    if (outcome.kind !== 'failure') {
      throw new VaultError('reply_too_complex');
    }
    return SEALED;
  });
  const stored = { phase: 'send', attempts: 0, flight: '', sent: false } as StoredJob;
  expect(await steps.send({ aid: 'a', id: 'job' }, stored)).toBe(0);
  expect(sealed.at(-1)).toEqual({ kind: 'failure', code: 'reply_too_complex' });
  expect(reports).toEqual([
    { record: SEALED, outcome: 'failed', entry: { ms: expect.any(Number), status: 200 } },
  ]);
});
