import { isMaskedNumberName, isSad, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue, stringifyJson } from '../json/json.ts';
import { maskForced, maskNames, maskUnnamed } from '../mask/mask.ts';
import { type CompiledRules, type RuleEnvironment, runRules } from './engine.ts';
import { copyJson } from './working.ts';

/** Texts and numbers have placeholders of one length each, which reveals nothing about the value. */
const PLACEHOLDER_BYTES = 32;
const NUMBER_PLACEHOLDER_DIGITS = 40;
/** Private-use characters, which no rule searches for: replacing parts of texts does not change a placeholder. */
const PRIVATE_USE = 0xe000;
const PRIVATE_USE_SIZE = 4_096;

/**
 * Kind of a hidden value: the names under which it may appear again. A `code` only under names of codes, since other
 * names show the last four characters of a value; a `number` under any hidden name; a `found` card number under any
 * name, since it is found there too.
 */
type Kind = 'code' | 'number' | 'found';

const UNDER_CODE: readonly Kind[] = ['code', 'number', 'found'];
const UNDER_NUMBER: readonly Kind[] = ['number', 'found'];
const ELSEWHERE: readonly Kind[] = ['found'];

/** 16 characters with 12 random bits each. */
function textPlaceholder(random: Uint8Array): string {
  let text = '';
  for (let at = 0; at + 1 < random.length; at += 2) {
    const bits = ((random[at] ?? 0) << 8) | (random[at + 1] ?? 0);
    text += String.fromCharCode(PRIVATE_USE + (bits % PRIVATE_USE_SIZE));
  }
  return text;
}

/** All digits, without a sign or a leading zero, so that conversion to a text and back does not change them. */
function numberPlaceholder(random: Uint8Array): string {
  const digits = BigInt(`0x${random.toHex()}`).toString().padStart(NUMBER_PLACEHOLDER_DIGITS, '0');
  return `9876543210${digits.slice(-NUMBER_PLACEHOLDER_DIGITS)}`;
}

/** The hidden values of an object, and their placeholders. */
class Placeholders {
  readonly #hidden = new Map<string, { readonly value: JsonValue; readonly kind: Kind }>();

  constructor(private readonly env: RuleEnvironment) {}

  /** A copy in which each value that the account sees masked is replaced by a placeholder. */
  hideMembers(object: JsonObject): JsonObject {
    const hidden: JsonObject = new Map();
    for (const [name, value] of object) {
      const kind = isSad(name, value) ? 'code' : isMaskedNumberName(name) ? 'number' : undefined;
      hidden.set(name, kind === undefined ? this.#hide(value) : this.#placeholderFor(value, kind));
    }
    maskNames(hidden);
    return hidden;
  }

  /** Merges both results: the visible one, with the original values of complete placeholders. */
  joinMembers(seen: JsonObject, hidden: JsonObject): JsonObject {
    const joined: JsonObject = new Map();
    for (const [name, value] of seen) {
      const other = hidden.get(name);
      const kinds = isSadName(name) ? UNDER_CODE : isMaskedNumberName(name) ? UNDER_NUMBER : undefined;
      const member = kinds === undefined ? this.#join(value, other) : this.#joinHidden(kinds, value, other);
      if (member !== undefined) {
        joined.set(name, member);
      }
    }
    return joined;
  }

  #placeholderFor(value: JsonValue, kind: Kind): JsonValue {
    const random = this.env.randomBytes(PLACEHOLDER_BYTES);
    const isNumber = value instanceof JsonNumber;
    const text = isNumber ? numberPlaceholder(random) : textPlaceholder(random);
    this.#hidden.set(text, { value, kind });
    return isNumber ? new JsonNumber(text) : text;
  }

  #hide(value: JsonValue): JsonValue {
    if (Array.isArray(value)) {
      return value.map((item) => this.#hide(item));
    }
    if (value instanceof Map) {
      return this.hideMembers(value);
    }
    const isMasked =
      (typeof value === 'string' || value instanceof JsonNumber) && maskUnnamed(value) !== value;
    return isMasked ? this.#placeholderFor(value, 'found') : value;
  }

  /** The value of a placeholder of these kinds; undefined if the text is not exactly one. */
  #realOf(found: JsonValue | undefined, kinds: readonly Kind[]): JsonValue | undefined {
    const isNumber = found instanceof JsonNumber;
    const text = isNumber ? found.text : found;
    const hidden = typeof text === 'string' ? this.#hidden.get(text) : undefined;
    if (hidden === undefined || !kinds.includes(hidden.kind)) {
      return undefined;
    }
    // A number that a template has inserted into a text is a text from then on.
    return hidden.value instanceof JsonNumber && !isNumber ? hidden.value.text : hidden.value;
  }

  #join(seen: JsonValue, hidden: JsonValue | undefined): JsonValue {
    if (seen instanceof Map && hidden instanceof Map) {
      return this.joinMembers(seen, hidden);
    }
    if (Array.isArray(seen) && Array.isArray(hidden)) {
      return seen.map((item, at) => this.#join(item, hidden[at]));
    }
    return this.#realOf(hidden, ELSEWHERE) ?? seen;
  }

  /** The value for a hidden name: that of a placeholder, or one that contains none; otherwise undefined. */
  #joinHidden(kinds: readonly Kind[], seen: JsonValue, hidden: JsonValue | undefined): JsonValue | undefined {
    const real = this.#realOf(hidden, kinds);
    if (real !== undefined) {
      return real;
    }
    return hidden !== undefined && stringifyJson(seen) === stringifyJson(hidden) ? seen : undefined;
  }
}

/**
 * Runs rules over data to be stored, for an account that sees numbers masked. Rules never receive a hidden value. They
 * run twice: over the object as the account sees it, and over one with random placeholders in place of hidden values.
 * The result is that of the first run. A complete placeholder of the second run, under a name that is hidden as well,
 * becomes its original value; other results of hidden values are omitted under such names. A text with a card number
 * may appear under any name, since it is found there too; results of rules from it are lost. So a processor's
 * `card.number` can become `card_number`, and no value, name, shape or error reveals anything about a number. The
 * limits of rules apply to each run.
 */
export function runRulesMasked(rules: CompiledRules, object: JsonObject, env: RuleEnvironment): JsonObject {
  const { onOperation: _, ...unobserved } = env;
  const placeholders = new Placeholders(unobserved);
  const seen = runRules(rules, maskForced(copyJson(object)), env);
  const hidden = runRules(rules, placeholders.hideMembers(object), unobserved);
  return placeholders.joinMembers(seen, hidden);
}
