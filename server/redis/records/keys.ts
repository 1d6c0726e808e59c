import { RECORD_KINDS } from './registry.ts';

type Kinds = typeof RECORD_KINDS;

/** The name of a key of each kind in `RECORD_KINDS`: a text, or a function that builds one. */
export const redisKeys = Object.fromEntries(
  Object.entries(RECORD_KINDS).map(([kind, { name }]) => [kind, name.make]),
  // `fromEntries` loses which kind has which name.
) as unknown as { readonly [Kind in keyof Kinds]: Kinds[Kind]['name']['make'] };
