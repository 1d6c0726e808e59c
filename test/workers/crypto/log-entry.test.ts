import { describe, expect, test } from 'bun:test';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { ERRORS } from '../../../server/core/error-table.ts';
import { openLogEntry, sealLogEntry, tagOf } from '../../../workers/crypto/log/entry.ts';
import {
  type ActionLogEntry,
  bytesOfIp,
  decodeLogEntry,
  encodeLogEntry,
  textOfIp,
} from '../../../workers/crypto/log/entry-content.ts';
import { outcomeNumber, outcomeOf } from '../../../workers/crypto/log/outcome.ts';
import { utf8 } from '../../../workers/crypto/primitives/bytes.ts';
import { damaged, expectRefused, filled, IDS, sealerOf, toHex, verifyWholeLog } from './fixture.ts';

const sealer = sealerOf();
const NONE = filled(16, 0);
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BASE = {
  timeMs: 1_700_000_000_123,
  action: 'decrypt',
  source: 'vault',
  ip: '203.0.113.7',
  userAgent: 'curl/8',
  outcome: 'ok',
  endpoint: '',
  credential: '',
  credentialName: '',
  requestId: '5f0c9f5e-2d53-4c8e-9a39-0d4c7c1f6f2e',
} as const;

function seal(seenLength: number, seenTag: Uint8Array, changes: Partial<ActionLogEntry> = {}): Uint8Array {
  return sealLogEntry(sealer, IDS, { ...BASE, seenLength, seenTag, ...changes });
}

/** A log of `length` entries whose writers each saw all entries before. */
function chain(length: number): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let i = 0; i < length; i++) {
    const newest = entries.at(-1);
    entries.push(seal(i, newest ? tagOf(newest) : NONE, { timeMs: BASE.timeMs + i }));
  }
  return entries;
}

describe('addresses', () => {
  test.each([
    ['0.0.0.0', 4],
    ['::', 16],
    ['::1', 16],
    ['1::', 16],
    ['2001:db8::1:0:0:1', 16],
    ['2001:0:0:1::1', 16],
    ['1:2:3:4:5:6:7:8', 16],
    ['::ffff:102:304', 16],
  ])('%p has %p bytes', (text, length) => {
    const bytes = bytesOfIp(text) ?? filled(0, 0);
    expect(bytes.length).toBe(length);
    expect(textOfIp(bytes)).toBe(text);
  });

  test.each([
    '',
    '1.2.3',
    '1.2.3.256',
    '01.2.3.4',
    '1::2::3',
    '::ffff:1.2.3.4',
    'fe80::1%eth0',
    '2001:DB8::1',
    '2001:0db8::1',
    '1:2:3:4:5:6:7',
    '0:0:0:0:0:0:0:1',
    '12345::',
    'unknown',
  ])('%p stays text', (text) => {
    expect(bytesOfIp(text)).toBeUndefined();
  });

  test('every address of bytes has a usual text, the one that the URL standard writes', () => {
    const group = fc.oneof(fc.constant(0), fc.nat(0xffff));
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        const bytes = Uint8Array.from(groups.flatMap((value) => [value >> 8, value & 0xff]));
        const text = textOfIp(bytes);
        expect(isIP(text)).toBe(6);
        expect(new URL(`http://[${text}]`).hostname).toBe(`[${text}]`);
        expect(toHex(bytesOfIp(text) ?? filled(0, 0))).toBe(toHex(bytes));
      }),
      { numRuns: 2000 },
    );
    fc.assert(fc.property(fc.ipV4(), (text) => expect(toHex(bytesOfIp(text) ?? NONE)).toHaveLength(8)));
  });
});

describe('one entry', () => {
  test('round trip of anything that fits', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 });
    const random = fc.string({ unit: fc.constantFrom(...BASE64URL), minLength: 22, maxLength: 22 });
    const id = fc.oneof(
      random,
      fc.uuid(),
      fc.uuid().map((uuid) => uuid.toUpperCase()),
      fc.string({ maxLength: 40 }),
    );
    const entry: fc.Arbitrary<ActionLogEntry> = fc.record({
      seenLength: fc.nat(0xffff_ffff),
      seenTag: fc.uint8Array({ minLength: 16, maxLength: 16 }),
      timeMs: fc.nat(8_640_000_000_000),
      action: fc.constantFrom('encrypt', 'decrypt'),
      source: fc.constantFrom('vault', 'capture', 'retrieve', 'proxy', 'form'),
      ip: fc.oneof(fc.ipV4(), fc.ipV6(), text),
      userAgent: text,
      outcome: fc.constantFrom('ok', 'passphrase_wrong', 'internal'),
      endpoint: id,
      credential: id,
      credentialName: fc.string({ unit: 'grapheme', maxLength: 128 }),
      requestId: id,
    });
    fc.assert(
      fc.property(entry, (value) => {
        fc.pre(utf8(value.ip).length <= 255 && utf8(value.userAgent).length <= 255);
        const opened = openLogEntry(sealer, IDS, sealLogEntry(sealer, IDS, value));
        expect({ ...opened, seenTag: toHex(opened.seenTag) }).toEqual({
          ...value,
          seenTag: toHex(value.seenTag),
        });
      }),
    );
  });

  test('long texts are cut at 255 bytes, between characters', () => {
    const opened = openLogEntry(
      sealer,
      IDS,
      seal(0, NONE, { userAgent: `a${'é'.repeat(300)}`, ip: '😀'.repeat(100) }),
    );
    expect(opened.userAgent).toBe(`a${'é'.repeat(127)}`);
    expect(opened.ip).toBe('😀'.repeat(63));
  });

  test('long ids are cut at 128 bytes, between characters', () => {
    const id = `a${'é'.repeat(100)}`;
    const opened = openLogEntry(sealer, IDS, seal(0, NONE, { requestId: id, endpoint: id, credential: id }));
    const cut = `a${'é'.repeat(63)}`;
    expect([opened.requestId, opened.endpoint, opened.credential]).toEqual([cut, cut, cut]);
  });

  test('callers who share an address or a user agent are kept apart', () => {
    const ips = ['203.0.113.7', '203.0.113.8', '2001:db8::1', 'unknown', ''];
    const ids = ['', 'curl', BASE.requestId];
    const callers = ips.flatMap((ip) =>
      ['', 'curl', 'curl/8'].flatMap((userAgent) =>
        ids.map((endpoint, i) => ({
          ...{ ip, userAgent, endpoint, credential: ids[(i + 1) % 3] ?? '' },
          requestId: ids[(i + 2) % 3] ?? '',
        })),
      ),
    );
    for (const one of callers) {
      for (const other of callers) {
        const entries = [one, other, one].map((caller) => openLogEntry(sealer, IDS, seal(0, NONE, caller)));
        expect(entries).toMatchObject([one, other, one]);
      }
    }
  });

  test('a text of 4 or 16 bytes is not taken for an address', () => {
    for (const ip of ['abcd', 'abcdefghijklmnop']) {
      expect(openLogEntry(sealer, IDS, seal(0, NONE, { ip })).ip).toBe(ip);
    }
  });

  test('other contexts are refused', () => {
    const entry = seal(0, NONE);
    for (const other of [{ token: 't' }, { kid: 'k' }, { aid: 'a' }]) {
      expectRefused(() => openLogEntry(sealer, { ...IDS, ...other }, entry));
    }
    expectRefused(() => openLogEntry(sealerOf('production'), IDS, entry));
    expect(() => seal(0, filled(15, 0))).toThrow(RangeError);
  });

  test('a sealed plaintext of another shape is refused', () => {
    const sealPlain = (bytes: Uint8Array) =>
      sealer.seal('audit', IDS.aid, 'log', [IDS.kid, IDS.token], bytes);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        const [type = 0] = bytes;
        const other = type === 1 || type === 2 ? Uint8Array.of(3, ...bytes) : bytes;
        expectRefused(() => openLogEntry(sealer, IDS, sealPlain(other)));
      }),
    );
    const whole = new Uint8Array(
      encodeLogEntry({ ...BASE, seenLength: 0, seenTag: NONE, endpoint: 'window' }),
    );
    for (let length = 0; length < whole.length; length++) {
      expectRefused(() => decodeLogEntry(whole.subarray(0, length)));
    }
    expectRefused(() => decodeLogEntry(Uint8Array.of(...whole, 0)));
  });

  test('every code has its number, and a number of a later version is read', () => {
    const codes = ['ok', ...Object.keys(ERRORS)];
    expect(codes.toSorted()).toEqual(Array.from({ length: codes.length }, (_, n) => outcomeOf(n)).toSorted());
    const plain = new Uint8Array(encodeLogEntry({ ...BASE, seenLength: 0, seenTag: NONE }));
    plain[31] = 255;
    expect(decodeLogEntry(plain).outcome).toBe('unknown');
    // Those that entries hold already: they stay.
    expect([outcomeNumber('passphrase_wrong'), outcomeNumber('token_not_found')]).toEqual([18, 24]);
  });
});

describe('the chain', () => {
  const entries = chain(6);

  test('a whole log is right, and so is an empty one', () => {
    expect(verifyWholeLog(sealer, IDS, entries)).toBeUndefined();
    expect(verifyWholeLog(sealer, IDS, [])).toBeUndefined();
  });

  test('writers at the same time may have seen the same entry', () => {
    const [one, two] = entries;
    const seen = one ? tagOf(one) : NONE;
    const log = [one, two, seal(1, seen), seal(0, NONE), seal(1, seen)].filter(
      (entry) => entry !== undefined,
    );
    expect(verifyWholeLog(sealer, IDS, log)).toBeUndefined();
  });

  test.each([0, 1, 2, 3, 4])('the loss of entry %p shows', (at) => {
    expect(verifyWholeLog(sealer, IDS, entries.toSpliced(at, 1))).toBe(at + 1);
  });

  test('a cut at the end cannot show', () => {
    expect(verifyWholeLog(sealer, IDS, entries.slice(0, 4))).toBeUndefined();
  });

  test('reordering, repetition and foreign entries show', () => {
    const [a, b, c] = entries;
    if (!a || !b || !c) {
      throw new Error('a log of six');
    }
    expect(verifyWholeLog(sealer, IDS, [b, a, c])).toBe(1);
    expect(verifyWholeLog(sealer, IDS, [a, c, b])).toBe(2);
    expect(verifyWholeLog(sealer, IDS, [a, a, c])).toBe(3);
    const foreign = sealLogEntry(
      sealer,
      { ...IDS, token: 'other' },
      { ...BASE, seenLength: 1, seenTag: tagOf(a) },
    );
    expect(verifyWholeLog(sealer, IDS, [a, foreign])).toBe(2);
  });

  test('an entry that claims what was not there shows', () => {
    const [a] = entries;
    if (!a) {
      throw new Error('a log of six');
    }
    expect(verifyWholeLog(sealer, IDS, [seal(1, NONE)])).toBe(1);
    expect(verifyWholeLog(sealer, IDS, [seal(5, NONE)])).toBe(1);
    expect(verifyWholeLog(sealer, IDS, [a, seal(2, tagOf(a))])).toBe(2);
    expect(verifyWholeLog(sealer, IDS, [a, seal(1, NONE)])).toBe(2);
    expect(verifyWholeLog(sealer, IDS, [a, seal(0, tagOf(a))])).toBe(2);
  });

  test('any damage shows at its place or after it', () => {
    const middle = entries[2] ?? NONE;
    for (const bad of damaged(middle)) {
      expect(verifyWholeLog(sealer, IDS, entries.toSpliced(2, 1, bad))).toBe(3);
    }
  });
});
