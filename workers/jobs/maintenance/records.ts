import { type PersonState, stateOfPerson, stateOfSecret } from '../../../server/domain/account.ts';
import { openPolicy, policyDigest } from '../../crypto/endpoint/record.ts';
import { parseRecovery, recoveryDigest } from '../../crypto/key/recovery.ts';
import { parseVaultKey } from '../../crypto/key/vault-key.ts';
import { IntegrityError, openedOrNot, readU32, TYPE } from '../../crypto/primitives/bytes.ts';
import { parseOwn, type ThreadContext, type ThreadHandlers } from '../context.ts';
import type { EndpointPolicy } from '../endpoint/jobs.ts';
import * as proxy from '../proxy/record.ts';
import type { AnyRecordPlace, MAINTENANCE_JOBS, RecordFacts } from './jobs.ts';

const WRAP_KINDS: Readonly<Record<number, string>> = {
  [TYPE.captureWrap]: 'capture',
  [TYPE.retrieveWrap]: 'retrieve',
  [TYPE.inboundWrap]: 'inbound',
};

function open(
  { sealer }: ThreadContext,
  { purpose, account, kind, path }: AnyRecordPlace,
  record: Uint8Array,
): Uint8Array {
  return sealer.open(purpose, account, kind, path, record);
}

function openJson<T>(context: ThreadContext, place: AnyRecordPlace, record: Uint8Array): T {
  return parseOwn<T>(open(context, place, record));
}

/** The id and the account of a record whose path is its id. */
function namesOf({ account, path }: AnyRecordPlace) {
  return { aid: account, id: path[0] ?? '' };
}

type Reader = (context: ThreadContext, place: AnyRecordPlace, record: Uint8Array) => RecordFacts;

/** Kinds whose content is read as well; all others must open, and no more. */
const READERS: Readonly<Record<string, Reader>> = {
  account: (context, place, record) => {
    const { aid, revision = 0 } = openJson<{ aid: string; revision?: number }>(context, place, record);
    return { aid, revision };
  },
  key: (context, place, record) => {
    const { kid, gen, recovery } = parseVaultKey(open(context, place, record));
    return { kid, gen, recovery: recovery?.toHex() };
  },
  recovery: (context, place, record) => {
    const parsed = parseRecovery(open(context, place, record));
    return { kid: parsed.kid, gen: parsed.gen, recovery: recoveryDigest(parsed).toHex() };
  },
  endpoint: (context, place, record) => {
    const ids = { env: context.env, ...namesOf(place) };
    const { json, hash } = openPolicy(context.sealer, ids, record);
    const { kid, gen, kind } = parseOwn<EndpointPolicy>(json);
    return { kid, gen, kind, digest: policyDigest(hash) };
  },
  'endpoint wrap': (context, place, record) => {
    const wrap = open(context, place, record);
    const kind = WRAP_KINDS[wrap[1] ?? 0];
    if (kind === undefined) {
      throw new IntegrityError('endpoint');
    }
    return { gen: readU32(wrap, 4), kind };
  },
  credential: (context, place, record) => {
    const { secrets } = openJson<{ secrets: readonly { readonly digest: string }[] }>(context, place, record);
    return { digest: stateOfSecret(secrets[0]?.digest ?? '') };
  },
  person: (context, place, record) => ({
    digest: stateOfPerson(openJson<PersonState>(context, place, record)),
  }),
  certificate: (context, place, record) => ({
    csrId: openJson<{ csr_id: string }>(context, place, record).csr_id,
  }),
  'proxy send': (context, place, record) => ({
    kid: proxy.openJob(context, namesOf(place), record).facts.kid,
  }),
  'proxy tell': (context, place, record) => {
    proxy.openReport(context, namesOf(place), record);
    return {};
  },
};

function factsOf(context: ThreadContext, place: AnyRecordPlace, record: Uint8Array): RecordFacts | undefined {
  try {
    const read = READERS[place.kind];
    if (read) {
      return read(context, place, record);
    }
    open(context, place, record);
    return {};
  } catch (error) {
    // A record that opens and is not JSON was not sealed by any code that this version knows.
    if (error instanceof IntegrityError || error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  }
}

function reencrypt(context: ThreadContext, place: AnyRecordPlace, record: Uint8Array): Uint8Array {
  const { purpose, account, kind, path } = place;
  const plain = open(context, place, record);
  const sealed = context.sealer.seal(purpose, account, kind, path, plain);
  plain.fill(0);
  return sealed;
}

export const RECORDS_HANDLERS = {
  verifyRecords(context, { records }) {
    return records.map(({ place, record }) => ({
      keyId: context.sealer.writerOf(record),
      facts: factsOf(context, place, record),
    }));
  },

  reencryptRecords(context, { records }) {
    return records.map(({ place, record }) => {
      const keyId = context.sealer.writerOf(record);
      const isNew = keyId === context.sealer.writeId;
      return { keyId, record: isNew ? undefined : openedOrNot(() => reencrypt(context, place, record)) };
    });
  },
} satisfies Partial<ThreadHandlers<typeof MAINTENANCE_JOBS>>;
