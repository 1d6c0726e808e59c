import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

const THREADS = 4;
const SEALS = 15_000;
const HASH_BYTES = 16;
const FIXTURE = join(import.meta.dir, '../fixtures/sealing-thread.ts');

function pairsOfThread(): Promise<Uint8Array> {
  const thread = new Worker(FIXTURE, { workerData: { seals: SEALS } });
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

/** How many different hashes there are. */
function distinct(all: readonly Uint8Array[]): number {
  const seen = new Set<string>();
  for (const pairs of all) {
    const bytes = Buffer.from(pairs.buffer, pairs.byteOffset, pairs.length);
    for (let at = 0; at < bytes.length; at += HASH_BYTES) {
      seen.add(bytes.toString('latin1', at, at + HASH_BYTES));
    }
  }
  return seen.size;
}

test('no pair of key and nonce seals two of 60,000 messages in four threads', async () => {
  const all = await Promise.all(Array.from({ length: THREADS }, pairsOfThread));
  expect(all.map(({ length }) => length / HASH_BYTES)).toEqual(Array.from({ length: THREADS }, () => SEALS));
  expect(distinct(all)).toBe(THREADS * SEALS);
  // A pair that came twice would be seen.
  const [first = new Uint8Array()] = all;
  first.copyWithin(HASH_BYTES, 0, HASH_BYTES);
  expect(distinct(all)).toBe(THREADS * SEALS - 1);
}, 120_000);
