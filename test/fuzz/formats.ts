/** Every byte format with bytes that are not what was written: nothing but the two known refusals may come of it. */

import { openItem, sealItem } from '../../workers/crypto/item/item.ts';
import { openMeta } from '../../workers/crypto/item/meta.ts';
import { parseVaultKey } from '../../workers/crypto/key/vault-key.ts';
import {
  openAuditEntry,
  openAuditMark,
  sealAuditEntry,
  sealAuditMark,
} from '../../workers/crypto/log/audit-entry.ts';
import { openLogEntry, sealLogEntry } from '../../workers/crypto/log/entry.ts';
import { concat, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { bytes, list } from '../../workers/jobs/codec.ts';
import { FrameReader, FrameWriter } from '../../workers/pool/frame.ts';
import {
  IDS as ENDPOINT_IDS,
  JSON_BYTES,
  KINDS,
  make,
  openAs,
  policyOf,
} from '../workers/crypto/endpoint-fixture.ts';
import { filled, IDS, isRefusal, openNewKey, sealerOf } from '../workers/crypto/fixture.ts';
import type { Chance } from './chance.ts';
import { damagedBytes } from './mutate.ts';
import { hold, type Suite } from './suite.ts';

/** A record as it was written, and how it is read. */
interface Format {
  readonly name: string;
  readonly record: Uint8Array;
  readonly read: (record: Uint8Array) => unknown;
  /** Formats without a seal may read as something else; they must not fail in any other way. */
  readonly isSealed: boolean;
}

const MARK = { sequence: 0, link: '00'.repeat(32), latestMs: 0, stepBackMs: 0 };

async function sealedFormats(): Promise<Format[]> {
  const sealer = sealerOf();
  const { key, record: keyRecord } = await openNewKey();
  const part0 = utf8('{"card_number":"4111111111111111"}');
  const sealed = sealItem({
    ...IDS,
    owner: key,
    part0,
    part1: { bytes: utf8('{"cvv":"1"}'), expiresAtMs: 0 },
    sealer,
  });
  const meta = openMeta(sealer, IDS, sealed.meta);
  const sad = sealed.sad ?? filled(0, 0);
  const open = { ...IDS, key, item: sealed.item, sad, meta, nowMs: 0 };
  const log = sealLogEntry(sealer, IDS, {
    ...{ seenLength: 0, seenTag: filled(16, 0), timeMs: 1, action: 'encrypt', source: 'vault' },
    ...{
      ip: '127.0.0.1',
      userAgent: 'fuzz',
      endpoint: 'e',
      credential: 'c',
      credentialName: 'n',
      requestId: 'r',
      outcome: 'ok',
    },
  });
  const chainKey = filled(32, 3);
  const event = { timeMs: 1, count: 1, action: 'store', outcome: 'ok', actor: 'a', ip: '::1' };
  const entry = sealAuditEntry(sealer, chainKey, IDS.aid, MARK, {
    ...event,
    actorName: 'n',
    userAgent: 'u',
    requestId: 'r',
    object: 'o',
  });
  const sealedOf = (name: string, record: Uint8Array, read: Format['read']): Format => ({
    ...{ name, record, read, isSealed: true },
  });
  return [
    sealedOf('item', sealed.item, (item) => openItem({ ...open, item })),
    sealedOf('item part 1', sad, (record) => openItem({ ...open, sad: record })),
    sealedOf('item meta', sealed.meta, (record) => openMeta(sealer, IDS, record)),
    sealedOf('log entry', log, (record) => openLogEntry(sealer, IDS, record)),
    sealedOf('security log entry', entry.record, (record) =>
      openAuditEntry(sealer, chainKey, IDS.aid, entry.mark.sequence, record),
    ),
    sealedOf('security log mark', sealAuditMark(sealer, IDS.aid, 'head', entry.mark), (record) =>
      openAuditMark(sealer, IDS.aid, 'head', record),
    ),
    ...KINDS.flatMap((kind) => {
      const ids = { ...ENDPOINT_IDS, id: `endpoint of ${kind}` };
      const made = make(kind, JSON_BYTES, ids);
      return [
        sealedOf(`${kind} policy`, made.policyRecord, (policyRecord) =>
          policyOf({ ...made, policyRecord }, ids),
        ),
        sealedOf(`${kind} wrap`, made.wrapRecord, (record) =>
          openAs(kind, policyOf(made, ids), record, made.secret, ids),
        ),
      ];
    }),
    { name: 'key record', record: keyRecord, read: parseVaultKey, isSealed: false },
  ];
}

function frameFormat(): Format {
  const fields = list(bytes);
  const writer = new FrameWriter();
  writer.message(7, 3, fields, [utf8('one'), filled(40, 1)]);
  return {
    name: 'frame between threads',
    record: new Uint8Array(writer.take()),
    read: (given) => {
      const reader = new FrameReader(new Uint8Array(given).buffer);
      return reader.next() ? reader.value(fields) : undefined;
    },
    isSealed: false,
  };
}

/** Half of the cases are damage, the rest bytes of chance, or one record's bytes for another. */
function otherBytes(formats: readonly [Format, ...Format[]], format: Format, chance: Chance): Uint8Array {
  const drawn = chance.int(4);
  if (drawn < 2) {
    return damagedBytes(format.record, chance);
  }
  if (drawn === 2) {
    return chance.bytes(chance.int(2 * format.record.length));
  }
  const other = chance.pick(formats).record;
  const at = chance.int(Math.min(other.length, format.record.length) + 1);
  return concat([format.record.subarray(0, at), other.subarray(at)]);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

export const FORMATS: Suite = {
  name: 'formats',
  share: 300,
  atOnce: 1,
  open: async () => {
    const formats: [Format, ...Format[]] = [frameFormat(), ...(await sealedFormats())];
    for (const { name, record, read } of formats) {
      hold(read(record) !== undefined, () => `${name} does not read what was written`);
    }
    return {
      run: (chance) => {
        const format = chance.pick(formats);
        const bytes = otherBytes(formats, format, chance);
        if (same(bytes, format.record)) {
          return;
        }
        let isRead = false;
        try {
          format.read(bytes);
          isRead = true;
        } catch (error) {
          hold(
            isRefusal(error) || (!format.isSealed && error instanceof RangeError),
            () => `${format.name}: ${error}`,
          );
        }
        hold(!isRead || !format.isSealed, () => `${format.name} reads ${Buffer.from(bytes).toString('hex')}`);
      },
      finish: async () => undefined,
    };
  },
};
