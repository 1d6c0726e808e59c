/** Required values of a call. Types demand them; programs without types get an error before anything is sent. */
import type { ConnectionOptions, KeyedCallOptions } from './call.ts';
import { VaultError } from './errors.ts';

/** The names of a connection's options, except its address and credentials. */
export const CONNECTION = [
  'fetch',
  'timeoutMs',
  'retries',
  'onAttempt',
] satisfies (keyof ConnectionOptions)[];
const OF_CALLS = ['signal', 'timeoutMs', 'retries', 'idempotencyKey'] satisfies (keyof KeyedCallOptions)[];

/**
 * The passphrase of a call: its own, or that of the client. Throws a VaultError without one, because some calls would
 * then have another meaning, such as listing instead of decrypting.
 */
export function neededPassphrase(own: string | undefined, ofClient: string | undefined): string {
  const passphrase = own ?? ofClient;
  if (typeof passphrase !== 'string' || passphrase === '') {
    throw new VaultError('This call needs a passphrase that is not empty: give it here or to the client.');
  }
  return passphrase;
}

/**
 * Rejects missing ids of a call for one record. Without them the route would list, and its reply could be mistaken
 * for that record: for a card, if a program takes a token from untrusted JSON.
 */
export function needText<Ids extends Readonly<Record<string, string | undefined>>>(ids: Ids): Ids {
  for (const [name, text] of Object.entries(ids)) {
    if (typeof text !== 'string' || text === '') {
      throw new VaultError(`${name} is missing, or no text: this call is about one thing.`);
    }
  }
  return ids;
}

/** Data as JSON text; a text is used unchanged. */
export function textOfData(data: unknown): string {
  if (data === undefined) {
    throw new VaultError('data is missing: the object to store, or its JSON text.');
  }
  return typeof data === 'string' ? data : JSON.stringify(data);
}

/** Rejects unknown options: a misspelt one would be ignored silently. */
export function checkNames(options: object, known: readonly string[] = OF_CALLS): void {
  const name = Object.keys(options).find((given) => !known.includes(given));
  if (name !== undefined) {
    throw new VaultError(`There is no option ${name}: options are ${known.join(', ')}.`);
  }
}
