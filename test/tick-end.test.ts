import { expect, test } from 'bun:test';
import { AsyncLocalStorage } from 'node:async_hooks';
import { keepContextAtTickEnd, runAtTickEnd } from '../server/core/tick-end.ts';

function nextTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test('what is due runs at the end of the tick, in order, with what it adds behind all others', async () => {
  const seen: string[] = [];
  runAtTickEnd(() => {
    seen.push('first');
    runAtTickEnd(() => seen.push('added'));
  });
  runAtTickEnd(() => seen.push('second'));
  await Promise.resolve();
  expect(seen).toEqual([]);
  await nextTick();
  expect(seen).toEqual(['first', 'second', 'added']);
  runAtTickEnd(() => seen.push('next'));
  await nextTick();
  expect(seen.at(-1)).toBe('next');
});

test('each runs in the asynchronous context of its caller, where contexts are kept', async () => {
  keepContextAtTickEnd();
  const place = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const look = (): void => runAtTickEnd(() => seen.push(place.getStore()));
  place.run('one', look);
  look();
  place.run('two', look);
  await nextTick();
  expect(seen).toEqual(['one', undefined, 'two']);
});
