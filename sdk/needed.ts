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
export const neededPassphrase = (own: string | undefined, ofClient: string | undefined): string => {
  const passphrase = own ?? ofClient;
  if (!passphrase) {
    throw new VaultError('This call needs a passphrase that is not empty: give it here or to the client.');
  }
  return passphrase;
};

/** Without a token the route would list, and its reply would pass for an item. */
export const needToken = (token: string | undefined): void => {
  if (!token) {
    throw new VaultError('token is missing: this call opens one item.');
  }
};

/** Data as JSON text; text is taken for JSON already. */
export const textOfData = (data: unknown): string => {
  if (data === undefined) {
    throw new VaultError('data is missing: the object to store, or its JSON text.');
  }
  return typeof data === 'string' ? data : JSON.stringify(data);
};

/** Refuses options that nobody reads: a misspelt one would have no effect, and nobody would know. */
export const checkNames = (options: object, known: readonly string[] = OF_CALLS): void => {
  const name = Object.keys(options).find((given) => !known.includes(given));
  if (name !== undefined) {
    throw new VaultError(`There is no option ${name}: options are ${known.join(', ')}.`);
  }
};
