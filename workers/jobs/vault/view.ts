import { cardBrand } from '../../../server/domain/card/brand.ts';
import { onlyDigits } from '../../../server/domain/card/digits.ts';
import { binOf, findNumber } from '../../../server/domain/card/number.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { parseJson, parseStoredObject } from '../../../server/domain/json/json.ts';
import { maskFields, maskForced } from '../../../server/domain/mask/mask.ts';
import { utf8 } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext } from '../context.ts';
import type { KeyName } from '../key/jobs.ts';
import { applyRules } from '../rule/handlers.ts';
import type { ThreadRules } from '../rule/jobs.ts';
import type { CardFacts, ViewParams } from './jobs.ts';

const CARD_METADATA = 'card_metadata';

/** Returns the facts of a card without its number; undefined if there are none. */
export function cardFacts(number: string | undefined): CardFacts | undefined {
  if (number === undefined) {
    return undefined;
  }
  const bin = binOf(number);
  const brand = cardBrand(number);
  return bin === undefined && brand === undefined
    ? undefined
    : {
        ...(bin === undefined ? {} : { bin, issuerDigits: onlyDigits(number).slice(0, 8) }),
        ...(brand === undefined ? {} : { brand }),
      };
}

/**
 * Applies a view to a stored text: forced masks, then rules, then masks of the named fields; and adds wanted card facts,
 * with the item's `metadata` if it has no member of that name. Without any of them the stored text is returned as it is.
 */
export function viewOf(
  context: ThreadContext,
  text: Uint8Array,
  view: ViewParams & KeyName,
  rules: ThreadRules,
  metadata?: string,
): { readonly text: Uint8Array; readonly card?: CardFacts | undefined } {
  if (!view.forcedMask && view.maskFields.length === 0 && !view.wantsCard && rules.length === 0) {
    return { text };
  }
  let object = parseStoredObject(text);
  const card = view.wantsCard ? cardFacts(findNumber(object)) : undefined;
  if (view.forcedMask) {
    object = maskForced(object);
  }
  if (rules.length > 0) {
    object = applyRules(context, view.aid, rules, object);
  }
  if (view.maskFields.length > 0) {
    object = maskFields(object, view.maskFields);
  }
  if (card?.bin !== undefined) {
    object.delete(CARD_METADATA);
  }
  if (view.wantsCard && metadata !== undefined && !object.has('metadata')) {
    object.set('metadata', parseJson(utf8(metadata)));
  }
  return { text: encodeJson(object), card };
}
