import { isMaskedNumberName, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue, stringifyJson } from '../json/json.ts';
import { maskForced, maskNames, maskUnnamed } from '../mask/mask.ts';
import { type CompiledRules, type RuleEnvironment, runRules } from './engine.ts';
import { copyJson } from './working.ts';

/**
 * All placeholders of texts have the same length, and so do those of numbers: they reveal nothing about the value.
 */
const PLACEHOLDER_BYTES = 32;
const NUMBER_PLACEHOLDER_DIGITS = 40;
/** Private-use characters, which no rule searches for: replacing parts of texts does not change a placeholder. */
const PRIVATE_USE = 0xe000;
const PRIVATE_USE_SIZE = 4_096;

interface Hidden {
  readonly value: JsonValue;
  /**
   * Under which names the value may stand again: that of a verification code under such a name alone, since of a number
   * the last four characters are shown; one in which a card number was found under any, since it is found there too.
   */
  readonly kind: 'code' | 'number' | 'found';
}

/** The hidden values of an object, by the text of their placeholder. */
type Placeholders = Map<string, Hidden>;

/** Whether the account sees members with this name masked. */
function isHiddenName(name: string): boolean {
  return isMaskedNumberName(name) || isSadName(name);
}

/** 16 characters with 12 random bits each. */
function textPlaceholder(random: Uint8Array): string {
  let text = '';
  for (let at = 0; at + 1 < random.length; at += 2) {
    const bits = ((random[at] ?? 0) << 8) | (random[at + 1] ?? 0);
    text += String.fromCharCode(PRIVATE_USE + (bits % PRIVATE_USE_SIZE));
  }
  return text;
}

/**
 * Digits without a sign or a leading zero, so that conversion to a text and back does not change them. It contains
 * each digit.
 */
function numberPlaceholder(random: Uint8Array): string {
  const digits = BigInt(`0x${random.toHex()}`).toString().padStart(NUMBER_PLACEHOLDER_DIGITS, '0');
  return `9876543210${digits.slice(-NUMBER_PLACEHOLDER_DIGITS)}`;
}

/** A placeholder that stands for a value from now on. */
function placeholderFor(
  value: JsonValue,
  kind: Hidden['kind'],
  placeholders: Placeholders,
  env: RuleEnvironment,
): JsonValue {
  const random = env.randomBytes(PLACEHOLDER_BYTES);
  const isNumber = value instanceof JsonNumber;
  const text = isNumber ? numberPlaceholder(random) : textPlaceholder(random);
  placeholders.set(text, { value, kind });
  return isNumber ? new JsonNumber(text) : text;
}

/** A copy in which every value that the account sees masked is replaced by a placeholder of its own. */
function hide(value: JsonValue, placeholders: Placeholders, env: RuleEnvironment): JsonValue {
  if (Array.isArray(value)) {
    return value.map((item) => hide(item, placeholders, env));
  }
  if (value instanceof Map) {
    return hideMembers(value, placeholders, env);
  }
  const isMasked = (typeof value === 'string' || value instanceof JsonNumber) && maskUnnamed(value) !== value;
  return isMasked ? placeholderFor(value, 'found', placeholders, env) : value;
}

function hideMembers(object: JsonObject, placeholders: Placeholders, env: RuleEnvironment): JsonObject {
  const hidden: JsonObject = new Map();
  for (const [name, value] of object) {
    const kind = isSadName(name) ? 'code' : isMaskedNumberName(name) ? 'number' : undefined;
    hidden.set(
      name,
      kind === undefined ? hide(value, placeholders, env) : placeholderFor(value, kind, placeholders, env),
    );
  }
  maskNames(hidden);
  return hidden;
}

/** The value of a placeholder that stands where such a value may; undefined if the value is not exactly one. */
function realOf(
  found: JsonValue | undefined,
  kinds: ReadonlySet<Hidden['kind']>,
  placeholders: Placeholders,
): JsonValue | undefined {
  const isNumber = found instanceof JsonNumber;
  const text = isNumber ? found.text : found;
  const hidden = typeof text === 'string' ? placeholders.get(text) : undefined;
  if (hidden === undefined || !kinds.has(hidden.kind)) {
    return undefined;
  }
  // A number that a template has inserted into a text is a text from then on.
  return hidden.value instanceof JsonNumber && !isNumber ? hidden.value.text : hidden.value;
}

const UNDER_CODE: ReadonlySet<Hidden['kind']> = new Set(['code', 'number', 'found'] as const);
const UNDER_NUMBER: ReadonlySet<Hidden['kind']> = new Set(['number', 'found'] as const);
const ELSEWHERE: ReadonlySet<Hidden['kind']> = new Set(['found'] as const);

/** Merges both results: the visible one, with the original values of complete placeholders. */
function join(seen: JsonValue, hidden: JsonValue | undefined, placeholders: Placeholders): JsonValue {
  if (seen instanceof Map && hidden instanceof Map) {
    return joinMembers(seen, hidden, placeholders);
  }
  if (Array.isArray(seen) && Array.isArray(hidden)) {
    return seen.map((item, i) => join(item, hidden[i], placeholders));
  }
  return realOf(hidden, ELSEWHERE, placeholders) ?? seen;
}

/**
 * The value for a hidden name: the original value of a placeholder, or a value that contains none; otherwise
 * undefined.
 */
function joinHidden(
  name: string,
  seen: JsonValue,
  hidden: JsonValue | undefined,
  placeholders: Placeholders,
): JsonValue | undefined {
  const real = realOf(hidden, isSadName(name) ? UNDER_CODE : UNDER_NUMBER, placeholders);
  if (real !== undefined) {
    return real;
  }
  return hidden !== undefined && stringifyJson(seen) === stringifyJson(hidden) ? seen : undefined;
}

function joinMembers(seen: JsonObject, hidden: JsonObject, placeholders: Placeholders): JsonObject {
  const joined: JsonObject = new Map();
  for (const [name, value] of seen) {
    const other = hidden.get(name);
    const member = isHiddenName(name)
      ? joinHidden(name, value, other, placeholders)
      : join(value, other, placeholders);
    if (member !== undefined) {
      joined.set(name, member);
    }
  }
  return joined;
}

/**
 * Runs rules over data to be stored, for an account that sees numbers masked. Rules never receive a hidden value.
 * They run twice: over the object as the account sees it, and over one with random placeholders in place of hidden
 * values. The result is that of the first run. Where the second run has a complete placeholder, under a name that is
 * hidden as well, its original value is restored; other results of hidden values are omitted under such names. A text in
 * which a card number was found may stand anywhere again, since it is found there too; what rules make of it is lost. So a
 * processor's `card.number` can become `card_number`, and no value, name, shape or error reveals anything about a
 * number. The limits of rules apply to each run.
 */
export function runRulesMasked(rules: CompiledRules, object: JsonObject, env: RuleEnvironment): JsonObject {
  const placeholders: Placeholders = new Map();
  const { onOperation: _, ...unobserved } = env;
  const seen = runRules(rules, maskForced(copyJson(object)), env);
  const hidden = runRules(rules, hideMembers(object, placeholders, unobserved), unobserved);
  return joinMembers(seen, hidden, placeholders);
}
