import { expect, test } from 'bun:test';
import { createCpuBudget, workedMs } from '../server/core/cpu-budget.ts';
import { VaultError } from '../server/core/errors.ts';
import { showReply } from '../server/domain/relay/sight.ts';

const ASIDE = new Int32Array(new SharedArrayBuffer(4));

test('a budget is used up by work and not by waiting', () => {
  const budget = createCpuBudget(20, 'reply_too_complex');
  Atomics.wait(ASIDE, 0, 0, 60);
  budget.check();
  for (const end = workedMs() + 25; workedMs() < end; ) {
    Math.hypot(1, 2);
  }
  expect(budget.check).toThrow(expect.objectContaining({ code: 'reply_too_complex', status: 502 }));
});

test.each(['all', 'masked', 'named'] as const)('a reply of which %s is shown has a budget', (sight) => {
  const reply = {
    status: 200,
    headers: [['Content-Type', 'application/json']] as const,
    body: new TextEncoder().encode('{"id":"4111111111111111"}'),
  };
  const showing = { sight, numbers: [], sent: [], paths: ['id'], secrets: ['secret of the connection'] };
  expect(new TextDecoder().decode(showReply(reply, showing).body)).toContain('1111');
  const check = () => {
    throw new VaultError('reply_too_complex');
  };
  expect(() => showReply(reply, showing, { check })).toThrow(VaultError);
});
