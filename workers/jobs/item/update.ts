/** Handler of the job `updateItem` in `jobs.ts`, which says what it promises. */
import { VaultError } from '../../../server/core/errors.ts';
import { splitSad } from '../../../server/domain/card/sad.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { keepNumbers, mergeFirstLevel } from '../../../server/domain/mask/merge.ts';
import { EMPTY } from '../../crypto/primitives/bytes.ts';
import type { ThreadContext, ThreadHandlers } from '../context.ts';
import { openKey, WARM_MISS } from '../key/open.ts';
import { applyRulesBeforeStorage } from '../rule/apply.ts';
import type { ThreadRules } from '../rule/jobs.ts';
import type { ITEM_JOBS, UpdateParams } from './jobs.ts';
import { checkReference, metaOf, openText } from './records.ts';
import { sealStored } from './seal.ts';

/**
 * Until when verification codes may be kept after an update: those that it brings for their own time, but no longer
 * than any that it leaves, since all of an item's codes are deleted together.
 */
function sadExpiry(
  stored: JsonObject,
  changes: JsonObject,
  before: number | undefined,
  next: number,
): number {
  const left = new Map([...stored].filter(([name]) => !changes.has(name)));
  if (before === undefined || before === 0 || splitSad(left).part1 === undefined) {
    return next;
  }
  return next === 0 ? before : Math.min(before, next);
}

/** The merged object after rules, which may change all of it but the number that the token stands for. */
function mergeWithRules(
  context: ThreadContext,
  params: UpdateParams,
  rules: ThreadRules,
  stored: JsonObject,
  changes: JsonObject,
): JsonObject {
  const merged = mergeFirstLevel(stored, changes);
  return rules.length === 0
    ? merged
    : keepNumbers(merged, applyRulesBeforeStorage(context, params, rules, merged));
}

/** Handlers of jobs of `jobs.ts`, which says what each promises. */
export const UPDATE_HANDLERS = {
  updateItem(context, { params, opening, rules, item: sealed, changes: sent }) {
    const { token } = params;
    using key = openKey(context, params, opening);
    if (!key) {
      return WARM_MISS;
    }
    const meta = metaOf(context, params, token, sealed.meta);
    checkReference(meta, params.reference, 'check');
    const changes = parseStoredObject(sent);
    const text = openText(context, params, token, key, { ...sealed, meta }, params.now);
    const stored = parseStoredObject(text);
    const object = mergeWithRules(context, params, rules, stored, changes);
    if (encodeJson(object).length > params.bytesMax) {
      throw new VaultError('body_too_large');
    }
    return sealStored(context, {
      params,
      owner: key,
      object,
      chosen: { token, candidate: 0, identity: EMPTY },
      sadExpiresAt: sadExpiry(stored, changes, meta.sad?.expiresAtMs, params.sadExpiresAt),
      tail: sealed.logTail,
    });
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
