import { VaultError } from './errors.ts';

/**
 * The passphrase of a call: its own, or the client's. Without either, some calls would mean something else, such
 * as listing instead of opening, so they are refused before anything is sent.
 */
export const neededPassphrase = (own: string | undefined, ofClient: string | undefined): string => {
  const passphrase = own ?? ofClient;
  if (passphrase === undefined) {
    throw new VaultError('This call needs a passphrase: give it here or to the client.');
  }
  return passphrase;
};
