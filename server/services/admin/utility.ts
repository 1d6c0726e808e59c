import type { Parts, UtilityService } from '../../deps/deps.ts';
import { checkNumber } from '../../domain/card/number.ts';
import type { MeteringService } from '../request/metering.ts';

const LENGTH_MIN = 32;
const LENGTH_MAX = 4_096;

/** Checks and generators that touch no stored data. */
export function createUtility({ crypto }: Pick<Parts, 'crypto'>, metering: MeteringService): UtilityService {
  return {
    async luhn({ account }, number) {
      metering.count(account, 'utility');
      return checkNumber(number);
    },
    async passphrase({ account }, length) {
      metering.count(account, 'utility');
      return { passphrase: await crypto.makePassphrase(Math.min(Math.max(length, LENGTH_MIN), LENGTH_MAX)) };
    },
  };
}
