/** Passwords of accounts, and generated passphrases. */
import { concealed, json, local, message, secret, text } from '../codec.ts';
import { defineJob } from '../define.ts';

export const PASSWORD_JOBS = {
  /** The PHC text of a password: Argon2id with a random salt and the vault's pepper. */
  hashPassword: defineJob({ lane: 'cold', input: message({ password: secret }), output: text }),
  /** Whether a password is that of a PHC text. `share`: who waits behind earlier checks of the same one. */
  verifyPassword: defineJob({
    lane: 'cold',
    share: ({ share }) => share,
    input: message({ password: secret, phc: text, share: local<string>() }),
    output: json<boolean>(),
  }),
  /** A random passphrase of as many characters. */
  makePassphrase: defineJob({
    lane: 'hot',
    input: message({ length: json<number>() }),
    output: concealed(text),
  }),
};
