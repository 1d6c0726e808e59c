import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { checkNumber } from '../domain/card/number.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { LuhnResult } from './schema.ts';

const LENGTH_MIN = 32;
const LENGTH_MAX = 4_096;

/** Checks and generators that use no stored data. */
export class Utility {
  constructor(
    private readonly crypto: Crypto,
    private readonly metering: Metering,
  ) {}

  /** Tells whether a number satisfies the Luhn formula, and its brand. */
  async luhn(ctx: AccountContext, number: string): Promise<LuhnResult> {
    this.metering.count(ctx, 'utility');
    return checkNumber(number);
  }

  /** Returns a random passphrase of `length` characters; the length is clamped. */
  passphrase(ctx: AccountContext, length: number): Promise<Secret<string>> {
    this.metering.count(ctx, 'utility');
    return this.crypto.makePassphrase({ length: Math.min(Math.max(length, LENGTH_MIN), LENGTH_MAX) });
  }
}
