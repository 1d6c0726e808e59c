import { describe, expect, test } from 'bun:test';
import { Decrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { beginAgeFile, sealChunks } from '../../../workers/crypto/record/age-file.ts';
import { filled } from './fixture.ts';

const CHUNK = 65_536;
const SEALED = CHUNK + 16;

const identity = await generateIdentity();
const recipients = [await identityToRecipient(identity)];

function textOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => i % 251);
}
function open(file: Uint8Array): Promise<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return decrypter.decrypt(file);
}
/** A file whose plaintext is given in pieces of so many chunks. */
async function fileOf(text: Uint8Array, chunks: number): Promise<{ head: Uint8Array; body: Uint8Array }> {
  const { head, key } = await beginAgeFile(recipients);
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (; text.length - at > chunks * CHUNK; at += chunks * CHUNK) {
    pieces.push(sealChunks(key, at / CHUNK, text.subarray(at, at + chunks * CHUNK), false));
  }
  pieces.push(sealChunks(key, at / CHUNK, text.subarray(at), true));
  return { head, body: Buffer.concat(pieces) };
}

describe('a file in pieces', () => {
  test.each([
    [1, 1],
    [CHUNK, 1],
    [CHUNK + 1, 1],
    [3 * CHUNK, 1],
    [3 * CHUNK + 7, 2],
    [7 * CHUNK - 1, 16],
  ])('of %i bytes, %i chunks at a time, is one that the library opens', async (length, chunks) => {
    const text = textOf(length);
    const { head, body } = await fileOf(text, chunks);
    expect(Buffer.compare(await open(Buffer.concat([head, body])), text)).toBe(0);
  });

  test('opens no more when it is cut, cut between chunks, continued, or in another order', async () => {
    const { head, body } = await fileOf(textOf(3 * CHUNK), 1);
    const [one, two, three] = [0, 1, 2].map((n) => body.subarray(n * SEALED, (n + 1) * SEALED)) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    const { body: other } = await fileOf(textOf(CHUNK), 1);
    for (const pieces of [
      [one, two, three.subarray(0, -1)],
      [one, two],
      [one],
      [],
      [one, two, three, three],
      [two, one, three],
      [one, three],
      [other],
    ]) {
      await expect(open(Buffer.concat([head, ...pieces]))).rejects.toThrow();
    }
    expect(await open(Buffer.concat([head, one, two, three]))).toHaveLength(3 * CHUNK);
  });

  test('has another key and nonce each time', async () => {
    const files = await Promise.all(Array.from({ length: 8 }, () => beginAgeFile(recipients)));
    expect(new Set(files.map(({ key }) => key.toHex())).size).toBe(files.length);
    expect(new Set(files.map(({ head }) => head.toHex().slice(-32))).size).toBe(files.length);
  });
});

describe('chunks', () => {
  test('are whole but for the last, of which there is something', () => {
    for (const [length, isLast] of [
      [0, false],
      [0, true],
      [CHUNK - 1, false],
      [CHUNK + 1, false],
    ] as const) {
      expect(() => sealChunks(filled(32, 1), 0, textOf(length), isLast)).toThrow(RangeError);
    }
  });

  test('never have the nonce of another one, nor that of the last', () => {
    const first = textOf(CHUNK);
    const sealed = [0, 1, 255, 256, 2 ** 32, 2 ** 40].flatMap((chunk) =>
      [false, true].map((isLast) => sealChunks(filled(32, 1), chunk, first, isLast).subarray(0, 32).toHex()),
    );
    expect(new Set(sealed).size).toBe(sealed.length);
  });
});

describe('a header', () => {
  test('has a stanza for each recipient', async () => {
    const { head } = await beginAgeFile(Array(20).fill(recipients[0]));
    const text = Buffer.from(head.subarray(0, -16)).toString('latin1');
    expect(text).toMatch(
      /^age-encryption\.org\/v1\n(?:-> X25519 [\w+/]{43}\n[\w+/]{43}\n){20}--- [\w+/]{43}\n$/,
    );
  });

  test.each([
    ['a mistyped recipient', 'age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqq'],
    ['a point of low order', 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z'],
    ['no recipient', 'somebody'],
  ])('is not made for %s, whose place is named', async (_, wrong) => {
    const failing = beginAgeFile([...recipients, wrong, ...recipients]);
    await expect(failing).rejects.toMatchObject({ code: 'invalid_request', field: 'body.recipients[1]' });
  });
});
