/** What no record may do to a decoder. */
import { describe, expect, test } from 'bun:test';
import { openContent } from '../../../workers/crypto/item/item.ts';
import { openMeta } from '../../../workers/crypto/item/meta.ts';
import { parseVaultKey, unlockVaultKey } from '../../../workers/crypto/key/vault-key.ts';
import { openWarm } from '../../../workers/crypto/key/warm.ts';
import { openLogEntry } from '../../../workers/crypto/log/entry.ts';
import { TYPE } from '../../../workers/crypto/primitives/bytes.ts';
import { randomBytes } from '../../../workers/crypto/primitives/random.ts';
import { selfTest } from '../../../workers/crypto/record/self-test.ts';
import { startCpuClock } from '../../helpers/cpu-clock.ts';
import {
  CONTEXT,
  expectRefused,
  FLOOR,
  filled,
  IDS,
  isRefusal,
  openItemReady,
  openNewKey,
  PASSPHRASE,
  sealerOf,
  unwrapReady,
  verifyWholeLog,
} from './fixture.ts';

const sealer = sealerOf();
const { key } = await openNewKey();
const meta = { gen: 1, revision: filled(8, 1), hash0: filled(32, 1) };
const part = { ...IDS, part: 0 as const };
/** Each length five times. */
const BLOBS = 2_000;

/** Random bytes of a random length, every other one with a right header and every fourth with a small count. */
function blob(index: number, type: number): Uint8Array {
  const bytes = randomBytes(index % 400);
  if (index % 2 === 0) {
    bytes.set([1, type, 1, 0].slice(0, bytes.length));
  }
  if (index % 4 === 0) {
    bytes.set([0, 0, 0, 0, 1].slice(0, Math.max(0, bytes.length - 4)), Math.min(4, bytes.length));
  }
  return bytes;
}

const decoders: [string, number, (bytes: Uint8Array) => unknown][] = [
  ['vault key', TYPE.vaultKey, parseVaultKey],
  ['owned envelope', TYPE.ownedEnvelope, (bytes) => unwrapReady(key, part, bytes)],
  ['derived envelope', TYPE.derivedEnvelope, (bytes) => unwrapReady(key, part, bytes)],
  ['sealed envelope', TYPE.sealedEnvelope, (bytes) => unwrapReady(key, part, bytes)],
  [
    'content',
    TYPE.content,
    (bytes) => openContent(filled(32, 1), { ...part, reference: 'x', revision: filled(8, 1) }, bytes),
  ],
  ['service record', TYPE.service, (bytes) => sealer.open('record', 'a', 'b', [], bytes)],
  ['metadata', TYPE.service, (bytes) => openMeta(sealer, IDS, bytes)],
  ['log entry', TYPE.service, (bytes) => openLogEntry(sealer, IDS, bytes)],
  ['item', TYPE.derivedEnvelope, (bytes) => openItemReady({ ...IDS, key, item: bytes, meta, nowMs: 0 })],
];

describe('random bytes', () => {
  test.each(decoders)('%s: they are refused, quickly and without a crash', (_, type, decode) => {
    const cpuMs = startCpuClock();
    for (let i = 0; i < BLOBS; i++) {
      expectRefused(() => decode(blob(i, type)));
    }
    expect(cpuMs() / BLOBS).toBeLessThan(1);
  });

  test('a warm blob, a log and a locked key', async () => {
    for (let i = 0; i < BLOBS; i++) {
      expect(openWarm(filled(32, 1), CONTEXT, blob(i, TYPE.warm), PASSPHRASE)).toBeUndefined();
      expect(verifyWholeLog(sealer, IDS, [blob(i, TYPE.service)])).toBe(1);
    }
    for (let i = 0; i < 500; i++) {
      const error = await unlockVaultKey(CONTEXT, blob(i, TYPE.vaultKey), PASSPHRASE, FLOOR).catch(
        (reason) => reason,
      );
      expect(isRefusal(error)).toBe(true);
    }
  });
});

test('the self-test passes within 100 ms', async () => {
  const runs: number[] = [];
  for (let run = 0; run < 5; run++) {
    const cpuMs = startCpuClock();
    await selfTest();
    runs.push(cpuMs());
  }
  expect(Math.min(...runs)).toBeLessThan(100);
});
