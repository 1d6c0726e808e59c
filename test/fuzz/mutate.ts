/** Damage to bytes, as a broken or hostile sender does it. */
import type { Chance } from './chance.ts';

type Damage = (bytes: Uint8Array, chance: Chance) => Uint8Array;

/** Bytes that mean something to one parser or another. */
const MEANINGFUL: readonly [string, ...string[]] = [
  '\0',
  '\r\n',
  '\n',
  '\r',
  ' ',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '%',
  '%00',
  '%zz',
  '&',
  '=',
  '#',
  '?',
  '/',
  '..',
  ';',
  '\x7f',
  '\xc0\xaf',
  '\xed\xa0\x80',
  '\xff',
  '\xef\xbb\xbf',
  '\u2028',
  '0',
  '-',
  'e999',
  '4294967296',
  '{{',
  '}}',
  '<',
  '&#0;',
];

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
function place(bytes: Uint8Array, chance: Chance): number {
  return chance.int(bytes.length + 1);
}

function insertAt(bytes: Uint8Array, at: number, more: Uint8Array): Uint8Array {
  return joined(bytes.subarray(0, at), more, bytes.subarray(at));
}

const DAMAGES: readonly [Damage, ...Damage[]] = [
  (bytes, chance) => {
    const copy = new Uint8Array(bytes);
    const at = chance.int(copy.length);
    copy[at] = (copy[at] ?? 0) ^ (1 << chance.int(8));
    return copy;
  },
  (bytes, chance) => {
    const copy = new Uint8Array(bytes);
    copy[chance.int(copy.length)] = chance.int(256);
    return copy;
  },
  (bytes, chance) =>
    insertAt(bytes, place(bytes, chance), new Uint8Array(Buffer.from(chance.pick(MEANINGFUL), 'latin1'))),
  (bytes, chance) => insertAt(bytes, place(bytes, chance), chance.bytes(1 + chance.int(8))),
  (bytes, chance) => {
    const at = place(bytes, chance);
    return joined(bytes.subarray(0, at), bytes.subarray(at + 1 + chance.int(16)));
  },
  (bytes, chance) => bytes.slice(0, place(bytes, chance)),
  (bytes, chance) => {
    const from = place(bytes, chance);
    return insertAt(bytes, place(bytes, chance), bytes.slice(from, from + 1 + chance.int(64)));
  },
  (bytes, chance) => {
    const from = place(bytes, chance);
    const piece = bytes.slice(from, from + 1 + chance.int(4));
    const repeated = Array<Uint8Array>(1 + chance.int(200)).fill(piece);
    return insertAt(bytes, from, joined(...repeated));
  },
];

/** The bytes with one to four damages; now and then a damage undoes another. */
export function damagedBytes(bytes: Uint8Array, chance: Chance): Uint8Array {
  let changed = bytes;
  for (let left = 1 + chance.int(4); left > 0; left -= 1) {
    changed = chance.pick(DAMAGES)(changed, chance);
  }
  return changed;
}

/** As {@link damagedBytes}, of a text whose characters are bytes. */
export function damagedText(text: string, chance: Chance): string {
  return Buffer.from(damagedBytes(Buffer.from(text, 'latin1'), chance)).toString('latin1');
}
