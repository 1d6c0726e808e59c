/** What a call cannot do without: types ask for it, and programs without types hear of it before anything is sent. */
import type { ConnectionOptions, KeyedCallOptions } from './call.ts';
import { VaultError } from './errors.ts';

/** The names of a connection's options, beside those that say where it goes. */
export const CONNECTION = [
  'fetch',
  'timeoutMs',
  'retries',
  'onAttempt',
] satisfies (keyof ConnectionOptions)[];
const OF_CALLS = ['signal', 'timeoutMs', 'retries', 'idempotencyKey'] satisfies (keyof KeyedCallOptions)[];

/**
 * The passphrase of a call: its own, or the client's. Without either, some calls would mean something else, such
 * as listing instead of opening, so they are refused before anything is sent.
 */
export function neededPassphrase(own: string | undefined, ofClient: string | undefined): string {
  const passphrase = own ?? ofClient;
  if (typeof passphrase !== 'string' || passphrase === '') {
    throw new VaultError('This call needs a passphrase that is not empty: give it here or to the client.');
  }
  return passphrase;
}

/**
 * What names the one thing that a call asks for, as `ids` has it. Without it the route would list, and its reply would
 * pass for that thing: for a card, where a program takes a token from a stranger's JSON.
 */
export function needText<Ids extends Readonly<Record<string, string | undefined>>>(ids: Ids): Ids {
  for (const [name, text] of Object.entries(ids)) {
    if (typeof text !== 'string' || text === '') {
      throw new VaultError(`${name} is missing, or no text: this call is about one thing.`);
    }
  }
  return ids;
}

/** Data as JSON text; text is taken for JSON already. */
export function textOfData(data: unknown): string {
  if (data === undefined) {
    throw new VaultError('data is missing: the object to store, or its JSON text.');
  }
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** Refuses options that nobody reads: a misspelt one would have no effect, and nobody would know. */
export function checkNames(options: object, known: readonly string[] = OF_CALLS): void {
  const name = Object.keys(options).find((given) => !known.includes(given));
  if (name !== undefined) {
    throw new VaultError(`There is no option ${name}: options are ${known.join(', ')}.`);
  }
}
