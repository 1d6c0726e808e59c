import type { RuleOperation } from '../../../server/domain/rule/check.ts';

/**
 * What each operation does with an input that it is made for, one that it cannot work on (which it copies), and
 * one that means harm. Objects are JSON texts, since they must come out digit for digit.
 */
export interface RuleCase {
  readonly kind: 'valid' | 'impossible' | 'hostile';
  readonly about: string;
  readonly operation: RuleOperation;
  readonly input: string;
  /** The object afterwards, or the code of the refusal. */
  readonly output: string;
  /** For `encrypt`: what the private key makes of the field `out`. */
  readonly decrypted?: string;
}

/** Stands for the PEM of a 2,048-bit RSA key that each test run makes. */
export const PUBLIC_KEY = '<public key>';
/** What the random source of the cases gives. */
export const RANDOM_BYTE = 0xa7;
