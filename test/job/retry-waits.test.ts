import { expect, test } from 'bun:test';
import { RetryWaits } from '../../server/job/retry-waits.ts';

test('the more jobs wait, the longer each does, up to a minute; one that asks again counts once', () => {
  let now = 0;
  const waits = new RetryWaits(
    () => 1,
    () => now,
  );
  expect(waits.next('a', 'a.0')).toBe(1_005);
  expect(waits.next('a', 'a.0')).toBe(1_005);
  for (let i = 1; i < 100; i++) {
    waits.next('a', `a.${i}`);
  }
  expect([waits.next('a', 'a.0'), waits.next('b', 'b.0')]).toEqual([1_500, 1_005]);
  for (let i = 0; i < 100; i++) {
    waits.end('a', `a.${i}`);
  }
  for (let i = 0; i < 20_000; i++) {
    waits.next('a', `a.${i}`);
  }
  expect(waits.next('a', 'a.0')).toBe(60_000);
  // Those that have not asked for two minutes are not waited behind any more.
  now = 120_000;
  expect(waits.next('a', 'a.new')).toBe(1_005);
});
