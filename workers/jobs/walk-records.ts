/** Pages of records outside of items: whether each opens in its place, and each sealed again under the write key. */

import { openPolicy } from '../crypto/endpoint/record.ts';
import { describeVaultKey } from '../crypto/key/vault-key.ts';
import { IntegrityError, readU32 } from '../crypto/primitives/bytes.ts';
import { TYPE } from '../crypto/record/format.ts';
import { EMPTY, field, type Handler, paramsOf, type ThreadContext, toJsonBytes } from './context.ts';
import type { EndpointPolicy } from './kinds.ts';
import { openSend, openTell, parseOwn } from './proxy-record.ts';
import type { RecordFacts, RecordLook, WalkPlace, WalkRecordsParams } from './walk-kinds.ts';

const WRAP_KINDS: Readonly<Record<number, string>> = {
  [TYPE.captureWrap]: 'capture',
  [TYPE.retrieveWrap]: 'retrieve',
};

const openPlain = (context: ThreadContext, { purpose, account, kind, path }: WalkPlace, record: Uint8Array) =>
  context.sealer.open(purpose, account, kind, path, record);

const jsonOf = <T>(context: ThreadContext, place: WalkPlace, record: Uint8Array): T =>
  parseOwn<T>(openPlain(context, place, record));

type Look = (context: ThreadContext, place: WalkPlace, record: Uint8Array) => RecordFacts;

const idOf = ({ path }: WalkPlace): string => path[0] ?? '';

/** Kinds whose content is looked at as well; of all others it counts that they open. */
const LOOKS: Readonly<Record<string, Look>> = {
  account: (context, place, record) => ({ aid: jsonOf<{ aid: string }>(context, place, record).aid }),
  key: (context, place, record) => {
    const { kid, gen } = describeVaultKey(openPlain(context, place, record));
    return { kid, gen };
  },
  endpoint: (context, place, record) => {
    const { json } = openPolicy(
      context.sealer,
      { env: context.env, aid: place.account, id: idOf(place) },
      record,
    );
    const { kid, gen, kind } = parseOwn<EndpointPolicy>(json);
    return { kid, gen, kind };
  },
  'endpoint wrap': (context, place, record) => {
    const wrap = openPlain(context, place, record);
    const kind = WRAP_KINDS[wrap[1] ?? 0];
    if (kind === undefined) {
      throw new IntegrityError('endpoint');
    }
    return { gen: readU32(wrap, 4), kind };
  },
  certificate: (context, place, record) => ({
    csrId: jsonOf<{ csr_id: string }>(context, place, record).csr_id,
  }),
  'proxy send': (context, place, record) => ({
    kid: openSend(context, { aid: place.account, id: idOf(place) }, record).facts.kid,
  }),
  'proxy tell': (context, place, record) => {
    openTell(context, { aid: place.account, id: idOf(place) }, record);
    return {};
  },
};

const lookAt = (context: ThreadContext, place: WalkPlace, record: Uint8Array): RecordFacts | undefined => {
  try {
    const look = LOOKS[place.kind];
    if (look) {
      return look(context, place, record);
    }
    openPlain(context, place, record);
    return {};
  } catch (error) {
    // What opens and is no JSON text was sealed by nobody that this code knows.
    if (error instanceof IntegrityError || error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
};

/** Opens each record in its place: RecordLook for each, as one JSON list. */
export const lookAtRecords: Handler = (context, fields) => {
  const { places } = paramsOf<WalkRecordsParams>(fields);
  const looks = places.map((place, i): RecordLook => {
    const record = field(fields, i + 1);
    return { keyId: context.sealer.writerOf(record), facts: lookAt(context, place, record) };
  });
  return [toJsonBytes(looks)];
};

const renewOne = (context: ThreadContext, place: WalkPlace, record: Uint8Array): Uint8Array => {
  const { purpose, account, kind, path } = place;
  const { sealer } = context;
  if (sealer.writerOf(record) === sealer.writeId) {
    return EMPTY;
  }
  try {
    const plain = sealer.open(purpose, account, kind, path, record);
    const renewed = sealer.seal(purpose, account, kind, path, plain);
    plain.fill(0);
    return renewed;
  } catch (error) {
    if (error instanceof IntegrityError) {
      return EMPTY;
    }
    throw error;
  }
};

/**
 * For each record what is to be put in its place: empty when it is under the write key already, or does not open. The
 * first field is a JSON list of the ring keys that they were found under, null for none of the ring.
 */
export const renewRecords: Handler = (context, fields) => {
  const { places } = paramsOf<WalkRecordsParams>(fields);
  const records = places.map((_, i) => field(fields, i + 1));
  return [
    toJsonBytes(records.map((record) => context.sealer.writerOf(record) ?? null)),
    ...places.map((place, i) => renewOne(context, place, records[i] ?? EMPTY)),
  ];
};
