import { createHash } from 'node:crypto';
import type { RedisLink } from '../client.ts';
import { asList, asText } from '../reply.ts';

/** 128 bits of a SHA-256 in base64url: a name of fixed length for a text that callers choose. */
export function digestOf(value: string): string {
  return createHash('sha256').update(value).digest('base64url').slice(0, 22);
}

/** All fields of a small hash with their values, in ascending order of field. */
export async function readHash(
  redis: RedisLink,
  key: string,
): Promise<readonly { readonly field: string; readonly value: unknown }[]> {
  const fields = asList(await redis.command('HKEYS', [key]))
    .map(asText)
    .sort();
  if (fields.length === 0) {
    return [];
  }
  const values = asList(await redis.command('HMGET', [key, ...fields]));
  return fields.flatMap((field, i) => (values[i] === null ? [] : [{ field, value: values[i] }]));
}
