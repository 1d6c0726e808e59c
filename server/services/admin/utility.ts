import type { Secret } from '../../core/secret.ts';
import type { Crypto } from '../../crypto/client.ts';
import { checkNumber } from '../../domain/card/number.ts';
import type { LuhnResult } from '../../http/schema/utility.ts';
import type { AccountContext } from '../common/request-context.ts';
import type { MeteringService } from '../request/metering.ts';

export interface UtilityService {
  readonly luhn: (ctx: AccountContext, number: string) => Promise<LuhnResult>;
  /** A passphrase of `length` characters; the service clamps the length. */
  readonly passphrase: (
    ctx: AccountContext,
    length: number,
  ) => Promise<{ readonly passphrase: Secret<string> }>;
}

const LENGTH_MIN = 32;
const LENGTH_MAX = 4_096;

/** Checks and generators that touch no stored data. */
export function createUtility({
  crypto,
  metering,
}: {
  readonly crypto: Pick<Crypto, 'makePassphrase'>;
  readonly metering: Pick<MeteringService, 'count'>;
}): UtilityService {
  return {
    async luhn(ctx, number) {
      metering.count(ctx, 'utility');
      return checkNumber(number);
    },
    async passphrase(ctx, length) {
      metering.count(ctx, 'utility');
      return {
        passphrase: await crypto.makePassphrase({
          length: Math.min(Math.max(length, LENGTH_MIN), LENGTH_MAX),
        }),
      };
    },
  };
}
