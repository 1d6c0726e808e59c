import { splitSad } from '../../server/domain/card/sad.ts';
import { encodeJson } from '../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../server/domain/json/json.ts';
import { keepNumbers, mergeFirstLevel } from '../../server/domain/mask/merge.ts';
import { EMPTY, field, type Handler, JobFailure, paramsOf, type ThreadContext } from './context.ts';
import { checkReference, metaOf, openText, sealStored } from './items.ts';
import { withKey } from './keys.ts';
import type { UpdateParams } from './kinds.ts';
import { applyRulesBeforeStorage } from './rules.ts';

/**
 * Until when codes may be kept after an update: those that it brings for their own time, but no longer than
 * any that it leaves, since all of an item's codes go together.
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
  rules: Uint8Array,
  stored: JsonObject,
  changes: JsonObject,
): JsonObject {
  const merged = mergeFirstLevel(stored, changes);
  return params.rules.length === 0
    ? merged
    : keepNumbers(merged, applyRulesBeforeStorage(context, params, rules, merged));
}

export const updateItem: Handler = (context, fields) => {
  const params = paramsOf<UpdateParams>(fields);
  return withKey(context, params, fields, (key) => {
    const meta = metaOf(context, params, params.token, field(fields, 5));
    checkReference(meta, params.reference, 'check');
    const changes = parseStoredObject(field(fields, 8));
    const sealed = { item: field(fields, 4), meta, sad: field(fields, 6) };
    const stored = parseStoredObject(openText(context, params, params.token, key, sealed, params.now));
    const object = mergeWithRules(context, params, field(fields, 3), stored, changes);
    if (encodeJson(object).length > params.bytesMax) {
      throw new JobFailure('body_too_large');
    }
    return sealStored(context, {
      params,
      owner: key,
      object,
      chosen: { token: params.token, candidate: 0, identity: EMPTY },
      sadExpiresAt: sadExpiry(stored, changes, meta.sad?.expiresAtMs, params.sadExpiresAt),
      tail: field(fields, 7),
    });
  });
};
