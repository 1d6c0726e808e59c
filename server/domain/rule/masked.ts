import { isMaskedNumberName, isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue, stringifyJson } from '../json/json.ts';
import { maskForced } from '../mask/mask.ts';
import { type CompiledRules, type RuleEnvironment, runRules } from './rule.ts';
import { copyJson } from './working.ts';

/** Stand-ins have one length each for texts and numbers: they tell nothing of what they stand for. */
const STAND_IN_BYTES = 32;
const NUMBER_STAND_IN_DIGITS = 40;
/** Private-use characters, which no rule looks for: what replaces parts of texts leaves a stand-in whole. */
const PRIVATE_USE = 0xe000;
const PRIVATE_USE_SIZE = 4_096;

interface Hidden {
  readonly value: JsonValue;
  /** Whether it is a code, of which nothing is shown: among numbers its last four characters would be. */
  readonly isCode: boolean;
}

/** What stands in for the hidden values of an object, by the text of the stand-in. */
type StandIns = Map<string, Hidden>;

const isHiddenName = (name: string): boolean => isMaskedNumberName(name) || isSadName(name);

/** 16 characters with 12 random bits each. */
function textStandIn(random: Uint8Array): string {
  let text = '';
  for (let at = 0; at + 1 < random.length; at += 2) {
    const bits = ((random[at] ?? 0) << 8) | (random[at + 1] ?? 0);
    text += String.fromCharCode(PRIVATE_USE + (bits % PRIVATE_USE_SIZE));
  }
  return text;
}

/** Digits without a sign or a leading zero, so that they are themselves as a text too; each digit is among them. */
function numberStandIn(random: Uint8Array): string {
  const digits = BigInt(`0x${random.toHex()}`).toString().padStart(NUMBER_STAND_IN_DIGITS, '0');
  return `9876543210${digits.slice(-NUMBER_STAND_IN_DIGITS)}`;
}

/** A copy in which every member of a hidden name, whatever it holds, is a stand-in of its own. */
function hide(value: JsonValue, standIns: StandIns, env: RuleEnvironment): JsonValue {
  if (Array.isArray(value)) {
    return value.map((item) => hide(item, standIns, env));
  }
  return value instanceof Map ? hideMembers(value, standIns, env) : value;
}

function hideMembers(object: JsonObject, standIns: StandIns, env: RuleEnvironment): JsonObject {
  const hidden: JsonObject = new Map();
  for (const [name, value] of object) {
    if (!isHiddenName(name)) {
      hidden.set(name, hide(value, standIns, env));
      continue;
    }
    const random = env.randomBytes(STAND_IN_BYTES);
    const isNumber = value instanceof JsonNumber;
    const text = isNumber ? numberStandIn(random) : textStandIn(random);
    standIns.set(text, { value, isCode: isSadName(name) });
    hidden.set(name, isNumber ? new JsonNumber(text) : text);
  }
  return hidden;
}

/** What a stand-in stands for, if it may stand under this name; undefined when the value is not just one. */
function realOf(name: string, found: JsonValue | undefined, standIns: StandIns): JsonValue | undefined {
  const isNumber = found instanceof JsonNumber;
  const text = isNumber ? found.text : found;
  const hidden = typeof text === 'string' ? standIns.get(text) : undefined;
  if (!hidden || (hidden.isCode && !isSadName(name))) {
    return undefined;
  }
  // A number that a template has put into a text is a text from there on.
  return hidden.value instanceof JsonNumber && !isNumber ? hidden.value.text : hidden.value;
}

function join(seen: JsonValue, hidden: JsonValue | undefined, standIns: StandIns): JsonValue {
  if (seen instanceof Map && hidden instanceof Map) {
    return joinMembers(seen, hidden, standIns);
  }
  return Array.isArray(seen) && Array.isArray(hidden)
    ? seen.map((item, i) => join(item, hidden[i], standIns))
    : seen;
}

/** What stands under a hidden name: a hidden value, or what has nothing to do with any; else nothing at all. */
function joinHidden(
  name: string,
  seen: JsonValue,
  hidden: JsonValue | undefined,
  standIns: StandIns,
): JsonValue | undefined {
  const real = realOf(name, hidden, standIns);
  if (real !== undefined) {
    return real;
  }
  return hidden !== undefined && stringifyJson(seen) === stringifyJson(hidden) ? seen : undefined;
}

function joinMembers(seen: JsonObject, hidden: JsonObject, standIns: StandIns): JsonObject {
  const joined: JsonObject = new Map();
  for (const [name, value] of seen) {
    const other = hidden.get(name);
    const member = isHiddenName(name)
      ? joinHidden(name, value, other, standIns)
      : join(value, other, standIns);
    if (member !== undefined) {
      joined.set(name, member);
    }
  }
  return joined;
}

/**
 * Runs rules over what is to be stored, for an account that sees numbers masked. They never meet a hidden value:
 * they run over the object as the account sees it, and over one in which random stand-ins take the place of what
 * is hidden. The outcome is that of the first run; but where the second one has left a stand-in whole, under a
 * name that stays hidden, the value that it stands for is put, exactly as it was; whatever else rules have made of
 * hidden values is left out under such names. So a processor's `card.number` can become `card_number`, and neither
 * a value nor a name, a shape or a failure tells anything of a number. The bounds of rules hold for each run.
 */
export function runRulesMasked(rules: CompiledRules, object: JsonObject, env: RuleEnvironment): JsonObject {
  const standIns: StandIns = new Map();
  const seen = runRules(rules, maskForced(copyJson(object)), env);
  const hidden = runRules(rules, hideMembers(object, standIns, env), env);
  return joinMembers(seen, hidden, standIns);
}
