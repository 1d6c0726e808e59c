/** A server that dies while it stores: no answered store is without its event. */
import { expect, test } from 'bun:test';
import { killedStores } from './killed.ts';

test('each store that was answered has its event after a kill', async () => {
  const { stored, told, kills } = await killedStores(300);
  expect(kills).toBe(1);
  expect(stored).toBeGreaterThanOrEqual(150);
  expect(told).toBeGreaterThanOrEqual(stored);
}, 120_000);
