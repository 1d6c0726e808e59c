import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type Redis from 'ioredis';
import type { TestRedis } from './redis.ts';

/** Texts or bytes that may stand nowhere but in the replies to those who may read them, by what they are. */
export type Canaries = Readonly<Record<string, string | Uint8Array>>;

/** The forms in which a text, or bytes, could lie somewhere. */
export function formsOf(canary: string | Uint8Array): string[] {
  const bytes = Buffer.from(canary);
  // Of base64 only the part that does not depend on what stands before and behind.
  const base64 = [0, 1, 2].flatMap((shift) => {
    const shifted = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const whole = shifted.slice(shift === 0 ? 0 : 4, 4 * Math.floor((shift + bytes.length) / 3));
    return [whole, whole.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const latin = bytes.toString('latin1');
  const ofText =
    typeof canary === 'string'
      ? [encodeURIComponent(canary), JSON.stringify(canary).slice(1, -1), bytes.toString('utf16le')]
      : [];
  return [
    latin,
    latin.replaceAll(' ', ''),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
    ...ofText,
    ...base64,
  ];
}

/** Which canaries a text of latin1 characters holds. */
export function canariesIn(canaries: Canaries, text: string): string[] {
  return Object.entries(canaries).flatMap(([name, canary]) =>
    formsOf(canary).some((form) => text.includes(form)) ? [name] : [],
  );
}

/** Every name and every value of a Redis, as one text of latin1 characters. */
export async function dumpRedis(raw: Redis): Promise<string> {
  const parts: string[] = [];
  for (const name of await raw.keysBuffer('*')) {
    parts.push(name.toString('latin1'), ((await raw.dumpBuffer(name)) ?? Buffer.alloc(0)).toString('latin1'));
    const type = await raw.type(name);
    // DUMP compresses long values.
    if (type === 'string') {
      parts.push((await raw.getBuffer(name))?.toString('latin1') ?? '');
    }
    if (type === 'hash') {
      for (const [field, value] of Object.entries(await raw.hgetallBuffer(name))) {
        parts.push(field, value.toString('latin1'));
      }
    }
    if (type === 'zset') {
      parts.push(...(await raw.zrangeBuffer(name, '0', '-1')).map((member) => member.toString('latin1')));
    }
    if (type === 'set') {
      parts.push(...(await raw.smembersBuffer(name)).map((member) => member.toString('latin1')));
    }
  }
  return parts.join('\n');
}

/** All that the append-only files of a Redis hold, as one text of latin1 characters. */
export function appendOnlyText({ socketPath }: Pick<TestRedis, 'socketPath'>): string {
  return readdirSync(dirname(socketPath), { recursive: true, encoding: 'utf8' })
    .map((name) => join(dirname(socketPath), name))
    .filter((path) => statSync(path).isFile() && path.includes('.aof'))
    .map((path) => readFileSync(path, 'latin1'))
    .join('\n');
}
