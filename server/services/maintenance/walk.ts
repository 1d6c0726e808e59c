import type { Crypto } from '../../crypto/client.ts';
import type { PlacedRecord, WalkPlace } from '../../crypto/walk.ts';
import type { ComplianceStore } from '../../store/admin.ts';
import type { AuditStore } from '../../store/audit.ts';
import type { EndpointStore } from '../../store/endpoint.ts';
import type { FormStore } from '../../store/form.ts';
import type { ItemStore } from '../../store/item.ts';
import type { JobStore } from '../../store/job.ts';
import type { KeyStore } from '../../store/key.ts';
import type { CensusStore } from '../../store/maintenance/census.ts';
import type { RecordKind, RecordStore } from '../../store/maintenance/record.ts';
import type { SurveyStore } from '../../store/maintenance/survey.ts';
import type { Clock } from '../common/clock.ts';

/** What record maintenance works on. */
export interface MaintenanceDependencies {
  readonly crypto: Crypto;
  readonly auditStore: Pick<AuditStore, 'chains'>;
  readonly censusStore: CensusStore;
  readonly complianceStore: Pick<ComplianceStore, 'read'>;
  readonly endpointStore: Pick<EndpointStore, 'entries' | 'read'>;
  readonly formStore: Pick<FormStore, 'entries' | 'read'>;
  readonly itemStore: ItemStore;
  readonly jobStore: Pick<JobStore, 'list' | 'read'>;
  readonly keyStore: Pick<KeyStore, 'changesLeft' | 'purgesLeft' | 'read' | 'users'>;
  readonly recordStore: RecordStore;
  readonly surveyStore: SurveyStore;
  /** Ids of the master keys: the one that writes, and all that read. */
  readonly masterKeys: { readonly writeId: string; readonly ids: readonly string[] };
  readonly now: Clock;
}

/** A sealed record outside of items, where it lies and where it must open. */
export interface WalkedRecord extends PlacedRecord {
  readonly kind: RecordKind;
  readonly aid: string;
  /** What names it among those of its kind and account. */
  readonly id: string;
}

/** One vault key and how its items are spread. */
export interface WalkedKey {
  readonly aid: string;
  readonly user: string;
  readonly kid: string;
  readonly gen: number;
}

const KEYS_STEP = 200;
const READ_STEP = 64;

const recordPlace = (account: string, kind: string, id: string): WalkPlace => ({
  purpose: 'record',
  account,
  kind,
  path: [id],
});

const AUDIT_MARKS: Readonly<Record<string, 'head' | 'start'>> = { h: 'head', o: 'start' };

/** Where a field of a security log must open; undefined for one that is not sealed. */
function auditPlace(account: string, field: string): WalkPlace | undefined {
  const mark = AUDIT_MARKS[field];
  if (mark !== undefined) {
    return { purpose: 'audit', account, kind: `security log ${mark}`, path: [mark] };
  }
  return /^\d+$/.test(field) ? { purpose: 'audit', account, kind: 'security log', path: [field] } : undefined;
}

const HASH_KINDS = ['rule', 'csr', 'csr key', 'certificate'] as const;

function* steps<T>(items: readonly T[], step: number): Generator<readonly T[]> {
  for (let at = 0; at < items.length; at += step) {
    yield items.slice(at, at + step);
  }
}

/** Visits the sealed records of a vault in steps; what is never deleted is met, perhaps twice. */
export interface RecordWalk {
  readonly accounts: () => AsyncGenerator<readonly WalkedRecord[], void, void>;
  readonly keys: (aid: string) => AsyncGenerator<readonly WalkedRecord[], void, void>;
  /** All records of an account but its keys and items. */
  readonly others: (aid: string) => AsyncGenerator<readonly WalkedRecord[], void, void>;
  /** The security log of an account, also of one that is gone. */
  readonly securityLog: (aid: string) => AsyncGenerator<readonly WalkedRecord[], void, void>;
  /** What belongs to no account but the root: the operator's security log and certificate of compliance. */
  readonly installation: () => AsyncGenerator<readonly WalkedRecord[], void, void>;
  /** Replies kept for Idempotency-Keys; those of before accounts were noted are left out and run out. */
  readonly replies: () => AsyncGenerator<readonly WalkedRecord[], void, void>;
}

export function createRecordWalk(parts: MaintenanceDependencies): RecordWalk {
  const { complianceStore, keyStore, recordStore, endpointStore, formStore, jobStore } = parts;

  async function* endpoints(aid: string): AsyncGenerator<readonly WalkedRecord[], void, void> {
    for (const entries of steps(await endpointStore.entries(aid), READ_STEP)) {
      const found = await Promise.all(
        entries.map(async ({ id, nonce }): Promise<WalkedRecord[]> => {
          const stored = await endpointStore.read(id);
          if (stored?.nonce !== nonce || stored.aid !== aid) {
            return [];
          }
          const { policy, wrap } = stored;
          const own = { aid, id } as const;
          const of = (kind: 'endpoint' | 'endpoint wrap', record: Uint8Array): WalkedRecord => ({
            ...own,
            kind,
            place: recordPlace(aid, kind, id),
            record,
          });
          return [of('endpoint', policy), ...(wrap ? [of('endpoint wrap', wrap)] : [])];
        }),
      );
      yield found.flat();
    }
  }

  async function* forms(aid: string): AsyncGenerator<readonly WalkedRecord[], void, void> {
    for (const entries of steps(await formStore.entries(aid), READ_STEP)) {
      const found = await Promise.all(
        entries.map(async ({ id, nonce }): Promise<WalkedRecord[]> => {
          const stored = await formStore.read(id);
          return stored?.nonce === nonce && stored.aid === aid
            ? [{ kind: 'form', aid, id, place: recordPlace(aid, 'form', id), record: stored.settings }]
            : [];
        }),
      );
      yield found.flat();
    }
  }

  async function* jobs(aid: string): AsyncGenerator<readonly WalkedRecord[], void, void> {
    for await (const ids of jobStore.list(aid)) {
      for (const some of steps(ids, READ_STEP)) {
        const found = await Promise.all(some.map((id) => jobRecords(parts, aid, id)));
        yield found.flat();
      }
    }
  }

  async function* securityLog(aid: string): AsyncGenerator<readonly WalkedRecord[], void, void> {
    for await (const page of recordStore.list('security log', aid)) {
      yield page.flatMap(({ id, record }): WalkedRecord[] => {
        const place = auditPlace(aid, id);
        return place ? [{ kind: 'security log', aid, id, place, record }] : [];
      });
    }
  }

  return {
    securityLog,
    async *installation() {
      yield* securityLog('');
      const stored = await complianceStore.read();
      if (stored) {
        const id = 'pci-dss';
        const place = recordPlace('', 'compliance', id);
        yield [{ kind: 'compliance', aid: '', id, place, record: stored.record }];
      }
    },
    async *accounts() {
      for await (const page of recordStore.list('account', '')) {
        yield page.map(({ id, record }) => ({
          kind: 'account' as const,
          aid: '',
          id,
          place: recordPlace('', 'account', id),
          record,
        }));
      }
    },
    async *keys(aid) {
      let after: string | undefined;
      for (;;) {
        const users = await keyStore.users(aid, after, KEYS_STEP);
        const found = await Promise.all(
          users.map(async (user): Promise<WalkedRecord[]> => {
            const record = await keyStore.read(aid, user);
            return record
              ? [{ kind: 'key', aid, id: user, place: recordPlace(aid, 'key', user), record }]
              : [];
          }),
        );
        yield found.flat();
        after = users.at(-1);
        if (users.length < KEYS_STEP || after === undefined) {
          return;
        }
      }
    },
    async *others(aid) {
      for (const kind of HASH_KINDS) {
        for await (const page of recordStore.list(kind, aid)) {
          yield page.map(({ id, record }) => ({ kind, aid, id, place: recordPlace(aid, kind, id), record }));
        }
      }
      yield* endpoints(aid);
      yield* forms(aid);
      yield* jobs(aid);
      yield* securityLog(aid);
    },
    async *replies() {
      for await (const page of recordStore.replies()) {
        yield page.flatMap(({ digest, aid, record }): WalkedRecord[] =>
          aid === undefined
            ? []
            : [
                {
                  kind: 'reply',
                  aid,
                  id: digest,
                  place: { purpose: 'idem', account: aid, kind: 'reply', path: [digest] },
                  record,
                },
              ],
        );
      }
    },
  };
}

/** The records of one job: what it does next, and the reply of its last attempt where that is kept. */
export async function jobRecords(
  { jobStore }: Pick<MaintenanceDependencies, 'jobStore'>,
  aid: string,
  id: string,
): Promise<WalkedRecord[]> {
  const stored = await jobStore.read(aid, id);
  if (!stored) {
    return [];
  }
  const of = (kind: 'job' | 'job reply', phase: 'send' | 'tell', record: Uint8Array): WalkedRecord => ({
    kind,
    aid,
    id,
    place: { purpose: 'job', account: aid, kind: `proxy ${phase}`, path: [id] },
    record,
  });
  const { phase, record, last } = stored;
  return [of('job', phase, record), ...(last ? [of('job reply', 'tell', last)] : [])];
}
