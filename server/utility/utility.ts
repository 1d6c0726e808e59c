import { bindParts } from '../core/bind.ts';
import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { checkNumber } from '../domain/card/number.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { LuhnResult } from './schema.ts';

const LENGTH_MIN = 32;
const LENGTH_MAX = 4_096;

interface UtilityParts {
  readonly crypto: Pick<Crypto, 'makePassphrase'>;
  readonly metering: Pick<MeteringService, 'count'>;
}

/** Checks and generators that touch no stored data. */
export type Utility = ReturnType<typeof createUtility>;

/** Makes the checks and generators of a server. */
export function createUtility(parts: UtilityParts) {
  return bindParts(parts, { luhn, passphrase });
}

/** Whether a number satisfies the Luhn formula, and its brand. */
async function luhn({ metering }: UtilityParts, ctx: AccountContext, number: string): Promise<LuhnResult> {
  metering.count(ctx, 'utility');
  return checkNumber(number);
}

/** A random passphrase of `length` characters; the length is clamped. */
async function passphrase(
  { crypto, metering }: UtilityParts,
  ctx: AccountContext,
  length: number,
): Promise<{ readonly passphrase: Secret<string> }> {
  metering.count(ctx, 'utility');
  const clamped = Math.min(Math.max(length, LENGTH_MIN), LENGTH_MAX);
  return { passphrase: await crypto.makePassphrase({ length: clamped }) };
}
