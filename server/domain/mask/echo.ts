/** Stored values that a third party's reply repeats, for callers who may use them and not see them. */
import { isSadName } from '../card/sensitive-names.ts';
import { JsonNumber, type JsonObject, type JsonValue } from '../json/json.ts';
import { maskForced, maskNames } from './mask.ts';
import { maskText, maskWhole } from './mask-text.ts';

/** What stands for a value that is hidden, whatever its length. */
const HIDDEN = '********';
/** Shorter numbers are looked for only behind a name of verification codes: they may be anything else. */
const NUMBER_DIGITS_MIN = 8;
const TEXT_CHARACTERS_MIN = 6;
/** What may stand between two digits of a number: up to three marks or spaces, or one of them percent-encoded. */
const BETWEEN_DIGITS = '(?:[^\\p{L}\\p{N}%]{0,3}|%[0-9a-fA-F]{2})';

/** Replaces every value in a tree, at any depth, and names that are numbers. Changes the tree and returns it. */
export function hideValues(object: JsonObject): JsonObject {
  hide(object);
  return object;
}

function hide(value: JsonValue): JsonValue {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      value.set(name, hide(member));
    }
    maskNames(value);
    return value;
  }
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      value[at] = hide(item);
    }
    return value;
  }
  return value === null ? null : HIDDEN;
}

/** The texts of all values in a tree, in their order. */
function* leavesOf(value: JsonValue): Generator<string> {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      yield name;
      yield* leavesOf(member);
    }
  } else if (Array.isArray(value)) {
    for (const item of value) {
      yield* leavesOf(item);
    }
  } else {
    yield value instanceof JsonNumber ? value.text : String(value ?? '');
  }
}

/**
 * The texts of an object that masking changes, and of what rules have made of it: `ruled`, and `ruledMasked` made of the
 * masked object, undefined where the rules reject that. All of these are to be hidden in replies.
 */
export function secretTextsOf(
  stored: () => JsonObject,
  ruled: JsonObject,
  ruledMasked: JsonObject | undefined,
): readonly string[] {
  const plain = new Set(leavesOf(stored()));
  const masked = new Set(leavesOf(maskForced(stored())));
  const secret = new Set([...plain].filter((text) => !masked.has(text)));
  const shown = new Set([...(ruledMasked === undefined ? plain : leavesOf(ruledMasked))]);
  for (const text of leavesOf(ruled)) {
    if (!shown.has(text) && (ruledMasked !== undefined || !plain.has(text))) {
      secret.add(text);
    }
  }
  secret.delete('');
  return [...secret];
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/** Replaces one secret text, in the forms in which a reply may repeat it. */
function maskOne(reply: string, secret: string): string {
  const digits = secret.replaceAll(/[^\p{L}\p{N}]/gu, '');
  if (/^\d+$/.test(digits)) {
    if (digits.length >= NUMBER_DIGITS_MIN) {
      const pattern = new RegExp([...digits].join(BETWEEN_DIGITS), 'gu');
      return reply.replaceAll(pattern, (found) => maskText(found));
    }
    const behindName = new RegExp(`([\\w.-]+)([\\s"'\\\\:=>]{1,12})${digits}(?![\\p{L}\\p{N}])`, 'gu');
    return reply.replaceAll(behindName, (found, name: string, between: string) =>
      isSadName(name) ? `${name}${between}${maskWhole(digits)}` : found,
    );
  }
  if (secret.length < TEXT_CHARACTERS_MIN) {
    return reply;
  }
  const forms = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())];
  return reply.replaceAll(new RegExp([...new Set(forms)].map(escaped).join('|'), 'g'), HIDDEN);
}

/**
 * A third party's text in which stored values are masked: numbers except for their last four digits, also with separators
 * between them, and verification codes behind a name of theirs. What a third party has encoded in another way stays.
 */
export function maskEchoes(reply: string, secrets: readonly string[]): string {
  return secrets.reduce(maskOne, reply);
}
