import { type Static, Type } from '@sinclair/typebox';
import { PUBLISHED } from '../schema/kinds.ts';

export const LuhnQuery = Type.Object({
  number: Type.String({
    minLength: 1,
    description: 'The card number to check; spaces are allowed.',
    'x-secret': true,
    examples: ['4111111111111111'],
  }),
});

export const LuhnResult = Type.Object(
  {
    valid: Type.Boolean({ description: 'Whether the check digit is correct.', examples: [true] }),
    brand: Type.Optional(
      Type.String({ description: 'The brand, if the number identifies it.', examples: ['visa'] }),
    ),
  },
  {
    $id: 'LuhnResult',
    description: 'Whether the check digit of a number is correct, and its brand.',
  },
);
export type LuhnResult = Static<typeof LuhnResult>;

export const PassphraseQuery = Type.Object({
  length: Type.Integer({
    default: 64,
    description: 'Number of characters; clamped to 32..4096.',
    examples: [64],
    [PUBLISHED]: { minimum: 32, maximum: 4096 },
  }),
});

export const GeneratedPassphrase = Type.Object(
  {
    passphrase: Type.String({
      description: 'Random and URL-safe, exactly `length` characters long.',
      'x-secret': true,
      examples: ['m0Xw3qTn8Vb5Rk2Lz7Yc4Hd9Gf6Js1PaQeUiOtNyBxCvZlKrMwDhEgFjSpTqAuW'],
    }),
  },
  { $id: 'GeneratedPassphrase', description: 'A generated passphrase; it is not stored.' },
);
export type GeneratedPassphrase = Static<typeof GeneratedPassphrase>;
