import { generateKeyPairSync } from 'node:crypto';
import { VaultError } from '../../../server/core/errors.ts';
import { type JsonObject, parseStoredObject, stringifyJson } from '../../../server/domain/json/json.ts';
import type { RuleOperation } from '../../../server/domain/rule/check.ts';
import { checkOperations } from '../../../server/domain/rule/check.ts';
import { compileRules, type RuleEnvironment, runRules } from '../../../server/domain/rule/engine.ts';
import { utf8 } from '../json/arbitrary.ts';
import { RANDOM_BYTE } from './case.ts';

/** A clock that stands still and chance that always gives the same. */
export const STILL: RuleEnvironment = {
  now: () => 0,
  randomBytes: (length) => new Uint8Array(length).fill(RANDOM_BYTE),
};

export function objectOf(text: string): JsonObject {
  return parseStoredObject(utf8(text));
}

/** An RSA key pair in PEM; the public key in the form that is asked for. */
export function rsaKeys(
  bits: number,
  type: 'spki' | 'pkcs1' = 'spki',
): { publicKey: string; privateKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type, format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

/** Checks some operations, runs them over the object of a JSON text, and gives the result's text. */
export function run(operations: readonly RuleOperation[], text: string, environment = STILL): string {
  return stringifyJson(runRules(compileRules([checkOperations(operations)]), objectOf(text), environment));
}

/** As {@link run}, but a refusal gives its code, followed by its field if it has one. */
export function outcome(work: () => string): string {
  try {
    return work();
  } catch (error) {
    if (error instanceof VaultError) {
      return [error.code, error.field].filter((part) => part !== undefined).join(' ');
    }
    throw error;
  }
}
