/** A server that dies in the middle of 5,000 stores: no answered store is without its event. */
import { expect, test } from 'bun:test';
import { killedStores } from './killed.ts';

test('each of 5,000 stores that was answered has its event after a kill', async () => {
  const { stored, told, kills } = await killedStores(5_000);
  expect(kills).toBe(1);
  expect(stored).toBeGreaterThanOrEqual(2_500);
  expect(told).toBeGreaterThanOrEqual(stored);
}, 600_000);
