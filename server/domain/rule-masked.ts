import { NUMBER_NAMES } from './card-number.ts';
import { JsonNumber, type JsonObject, type JsonValue } from './json.ts';
import { maskForced } from './mask.ts';
import { type CompiledRules, type RuleEnvironment, runRules } from './rule.ts';
import { copyJson } from './rule-working.ts';
import { isMaskedNumberName, isSadName } from './sensitive-names.ts';

/** Numbers that an object shows but for their last four characters, as `keyOf` gives them. */
type Numbers = ReadonlySet<string>;

const isHiddenName = (name: string): boolean => isMaskedNumberName(name) || isSadName(name);

/** A number as people read it: how it is written and grouped does not count. Undefined for what is no scalar. */
const keyOf = (value: JsonValue): string | undefined =>
  value === null || typeof value === 'boolean' || value instanceof Map || Array.isArray(value)
    ? undefined
    : (value instanceof JsonNumber ? value.text : value).replaceAll(/[\s-]/g, '');

function collectNumbers(value: JsonValue, numbers: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) {
      collectNumbers(item, numbers);
    }
  } else if (value instanceof Map) {
    for (const [name, member] of value) {
      const key = isMaskedNumberName(name) ? keyOf(member) : undefined;
      if (key !== undefined) {
        numbers.add(key);
      } else if (!isHiddenName(name)) {
        collectNumbers(member, numbers);
      }
    }
  }
}

/**
 * Whether a value may stand under a hidden name. Codes, and whatever is nested, are masked whole there: anything
 * may. A number shows its last four characters, so it must be one that has shown just these before.
 */
function staysHidden(name: string, value: JsonValue, numbers: Numbers): boolean {
  const key = keyOf(value);
  return isSadName(name) || key === undefined || numbers.has(key);
}

function joinValues(seen: JsonValue, real: JsonValue | undefined, numbers: Numbers): JsonValue {
  if (seen instanceof Map && real instanceof Map) {
    return joinObjects(seen, real, numbers);
  }
  return Array.isArray(seen) && Array.isArray(real)
    ? seen.map((item, i) => joinValues(item, real[i], numbers))
    : seen;
}

/** The members of `seen`, but under hidden names what `real` has where it stays hidden. */
function joinObjects(seen: JsonObject, real: JsonObject, numbers: Numbers): JsonObject {
  const joined: JsonObject = new Map();
  for (const [name, value] of seen) {
    joined.set(name, joinValues(value, real.get(name), numbers));
  }
  for (const [name, value] of real) {
    if (isHiddenName(name) && staysHidden(name, value, numbers)) {
      joined.set(name, value);
    }
  }
  return joined;
}

/** A number that a token is made from is the real one or none: never what a mask has left of it. */
function dropMaskedNumbers(joined: JsonObject, real: JsonObject): JsonObject {
  for (const name of NUMBER_NAMES) {
    const value = joined.get(name);
    const own = real.get(name);
    const isReal =
      value === own || (value instanceof JsonNumber && own instanceof JsonNumber && value.text === own.text);
    if (!isReal) {
      joined.delete(name);
    }
  }
  return joined;
}

/**
 * Runs rules over what is to be stored, for an account that sees numbers masked: twice, over the object as it is
 * and as the account sees it. The outcome is that of the second run, but that numbers and codes may be moved,
 * whole, to places where they stay hidden. So a processor's `card.number` can become `card_number`, and no rule
 * cuts a number into pieces that could be read one by one.
 */
export function runRulesMasked(rules: CompiledRules, object: JsonObject, env: RuleEnvironment): JsonObject {
  const numbers = new Set<string>();
  collectNumbers(object, numbers);
  const real = runRules(rules, object, env);
  const seen = runRules(rules, maskForced(copyJson(object)), env);
  return dropMaskedNumbers(joinObjects(seen, real, numbers), real);
}
