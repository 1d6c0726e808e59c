/** Handlers of the jobs on single items and their logs, documented in `jobs.ts`. */
import { VaultError } from '../../../server/core/errors.ts';
import { keepNumbers, mergeFirstLevel } from '../../../server/domain/card/number.ts';
import { splitSad } from '../../../server/domain/card/sad.ts';
import { encodeJson } from '../../../server/domain/json/bytes.ts';
import { type JsonObject, parseStoredObject } from '../../../server/domain/json/json.ts';
import { isInRanges } from '../../../server/domain/text/network.ts';
import { formatStoredAt } from '../../../server/domain/text/time.ts';
import { earlierExpiry } from '../../crypto/item/item.ts';
import { sealMeta, versionOf } from '../../crypto/item/meta.ts';
import { openLogEntry, tagOf } from '../../crypto/log/entry.ts';
import type { ReadLogEntry } from '../../crypto/log/entry-content.ts';
import { EMPTY, equalBytes, IntegrityError } from '../../crypto/primitives/bytes.ts';
import type { ThreadHandlers } from '../context.ts';
import { openWarmKey, WARM_MISS, withKey } from '../key/open.ts';
import { applyRulesBeforeStorage } from '../rule/handlers.ts';
import type { AccessFilter, ITEM_JOBS, ShownLogEntry } from './jobs.ts';
import {
  checkLive,
  checkReference,
  checkVersion,
  logEntry,
  metaOf,
  openText,
  referenceMember,
  sealNew,
  sealStored,
  updatedFacts,
} from './records.ts';
import { viewOf } from './view.ts';

/**
 * Returns true if entries of a part of a log, newest first, were moved or replaced: an entry occurs twice, or does not name
 * the one before it.
 */
function isBroken(entries: readonly ReadLogEntry[], records: readonly Uint8Array[], newest: number): boolean {
  const tags = new Set(records.map((record) => tagOf(record).toHex()));
  if (tags.size < records.length) {
    return true;
  }
  return entries.some(({ seenLength, seenTag }, i) => {
    const position = newest - i;
    const named = seenLength === 0 ? undefined : records[newest - seenLength];
    return seenLength >= position || (named !== undefined && !equalBytes(seenTag, tagOf(named)));
  });
}

function shownEntry(entry: ReadLogEntry, account: string): ShownLogEntry {
  const { action, source, outcome, credential, credentialName, endpoint } = entry;
  const { requestId, ip, userAgent, timeMs } = entry;
  return {
    action,
    source,
    outcome,
    actor: credential === '' ? account : `${account}/${credential}`,
    ...(credentialName === '' ? {} : { actor_name: credentialName }),
    ...(endpoint === '' ? {} : { endpoint }),
    request_id: requestId,
    ip_address: ip,
    user_agent: userAgent,
    timestamp: formatStoredAt(timeMs),
  };
}

function isWanted({ actor, ip_address, endpoint }: ShownLogEntry, wanted: AccessFilter): boolean {
  return (
    (wanted.actor === undefined || wanted.actor === actor) &&
    (wanted.endpoint === undefined || wanted.endpoint === endpoint) &&
    (wanted.source_ip === undefined || isInRanges(ip_address, [wanted.source_ip]))
  );
}

export const ITEM_HANDLERS = {
  storeItem(context, { params, blob, passphrase, body }) {
    const key = openWarmKey(context, params, blob, passphrase);
    return key ? sealNew(context, params, parseStoredObject(body), key) : WARM_MISS;
  },

  openItem(context, { params, opening, rules, item: sealed }) {
    return withKey(context, params, opening, [sealed], (key) => {
      const { token, reference, now } = params;
      const meta = metaOf(context, params, token, sealed.meta);
      checkLive(meta, now);
      checkReference(meta, reference, 'check');
      const stored = openText(context, params, token, key, { ...sealed, meta }, now);
      const { text, card } = viewOf(context, stored, params, rules, meta.metadata);
      const entry = logEntry(context, params, token, 'decrypt', sealed.logTail);
      return { kind: 'opened', text, logEntry: entry, card: card ?? {}, version: versionOf(meta).toHex() };
    });
  },

  updateItem(context, { params, opening, rules, item: sealed, changes: sent }) {
    return withKey(context, params, opening, [sealed], (key) => {
      const { token } = params;
      const meta = metaOf(context, params, token, sealed.meta);
      checkLive(meta, params.now);
      checkReference(meta, params.reference, 'check');
      checkVersion(meta, params.ifMatch);
      // An update of the lifetime or metadata needs no members.
      const isBare = sent.length === 0 && (params.ttl !== undefined || params.metadata !== undefined);
      const changes: JsonObject = isBare ? new Map() : parseStoredObject(sent);
      const stored = parseStoredObject(
        openText(context, params, token, key, { ...sealed, meta }, params.now),
      );
      const merged = mergeFirstLevel(stored, changes);
      // Rules may change all of it but the number of the token.
      const object =
        rules.length === 0
          ? merged
          : keepNumbers(merged, applyRulesBeforeStorage(context, params, rules, merged));
      if (encodeJson(object).length > params.bytesMax) {
        throw new VaultError('body_too_large');
      }
      // All verification codes of an item are deleted together: those that stay do not stay longer.
      const left = new Map([...stored].filter(([name]) => !changes.has(name)));
      const sadExpiresAt =
        meta.sad === undefined || splitSad(left).part1 === undefined
          ? params.sadExpiresAt
          : earlierExpiry(meta.sad.expiresAtMs, params.sadExpiresAt);
      return sealStored(context, {
        params,
        ...updatedFacts(params, meta, object, key),
        owner: key,
        object,
        chosen: { token, candidate: 0, identity: EMPTY },
        sadExpiresAt,
        tail: sealed.logTail,
        version: isBare && rules.length === 0 ? versionOf(meta) : undefined,
      });
    });
  },

  describeItem(context, { params, meta: record }) {
    const meta = metaOf(context, params, params.token, record);
    checkLive(meta, params.now ?? 0);
    checkReference(meta, params.reference, params.rule);
    return referenceMember(context, params.aid, meta.reference, params.token);
  },

  dropSad(context, { name: { token, ...key }, meta }) {
    const { sad, ...rest } = metaOf(context, key, token, meta);
    return sad && sealMeta(context.sealer, { env: context.env, ...key, token }, rest);
  },

  sealLog(context, { params, tail }) {
    return logEntry(context, params, params.token, params.action, tail, params.outcome);
  },

  readLog({ env, sealer }, { params: { aid, kid, token, newest, account }, entries: records }) {
    const entries = records.map((record) => openLogEntry(sealer, { env, aid, kid, token }, record));
    if (isBroken(entries, records, newest)) {
      throw new IntegrityError('log');
    }
    return entries.map((entry) => shownEntry(entry, account));
  },

  readAccess(context, { params: { aid, account, places, filter }, entries, metas }) {
    const { env, sealer } = context;
    return places.map(({ kid, user, token }, i) => {
      const entry = shownEntry(openLogEntry(sealer, { env, aid, kid, token }, entries[i] ?? EMPTY), account);
      if (entry.action !== 'decrypt' || entry.outcome !== 'ok' || !isWanted(entry, filter)) {
        return null;
      }
      const { reference } = metaOf(context, { aid, kid }, token, metas[i] ?? EMPTY);
      return { user, token, ...(reference === undefined ? {} : { reference }), ...entry };
    });
  },
} satisfies Partial<ThreadHandlers<typeof ITEM_JOBS>>;
