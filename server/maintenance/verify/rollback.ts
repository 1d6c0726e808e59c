import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import type { RecordFacts } from '../../../workers/jobs/maintenance/jobs.ts';
import type { AuditStore } from '../../audit/store.ts';
import { recover } from '../../core/concurrency.ts';
import type { Crypto } from '../../crypto/client.ts';
import { REVISION_GONE } from '../../domain/account.ts';
import type { KeyStore } from '../../key/store.ts';
import type { RecordKind } from '../../redis/records/kind.ts';
import type { Fault } from '../report.ts';
import type { FoundRecord, RecordStore } from '../store/records.ts';
import type { LiveAccount, Walk } from '../walk.ts';

const STEP = 256;

/** The states of endpoints, credentials and people of an account by its security log, and the entries that are missing from it. */
interface LoggedStates {
  /** The digest of the newest state of each record, by kind and id, and of earlier states. */
  readonly newest: Map<string, string>;
  readonly older: Set<string>;
  /** Digests of states that have ended. */
  readonly gone: Set<string>;
  readonly missing: number[];
}

/** An endpoint by its records: its policy, and whether a secret still opens it. */
interface FoundEndpoint {
  readonly id: string;
  readonly facts: RecordFacts;
  readonly isLive: boolean;
}

/** Descriptions of a record that is older than the log says. */
const OLDER = {
  endpoint: 'another endpoint was created under its id since',
  credential: 'it has got a new secret since, and is there as it was before',
  person: 'its rights or its ways to sign in have changed since, and it is there as it was before',
} as const;

/** Finds older copies of records that were put back, by the security log. A record that is ahead of the log is no fault. */
export class Rollbacks {
  constructor(
    private readonly recordStore: RecordStore,
    private readonly keyStore: KeyStore,
    private readonly auditStore: AuditStore,
    private readonly crypto: Crypto,
    private readonly walk: Walk,
  ) {}

  /** Finds a rollback of the record of an account that opens, by its revision. */
  async accountFaults(found: FoundRecord): Promise<readonly Fault[]> {
    const aid = (await this.walk.openAgain(found))?.facts?.aid;
    if (aid === undefined) {
      return [];
    }
    const newest = (await this.describeLog(aid))?.head.revision ?? 0;
    // Read after the log, whose entries are written after their changes.
    const facts = (await this.walk.openAgain(found))?.facts;
    if (facts?.aid !== aid || (facts.revision ?? 0) >= newest) {
      return [];
    }
    const what =
      newest === REVISION_GONE
        ? 'it was deleted, and is there again'
        : `it is older than its newest change: revision ${facts.revision ?? 0} instead of ${newest}`;
    return [{ kind: 'account', account: found.id, place: found.id, what, state: 'bad' }];
  }

  /** Finds endpoints, credentials and people of an account, or credentials of the operator, that exist although they have ended. */
  async recordFaults(account: LiveAccount): Promise<readonly Fault[]> {
    const logged = await this.readLoggedStates(account.aid);
    const faults = logged.missing.map((sequence): Fault => {
      const what = 'the entry is missing';
      return { kind: 'security log', account: account.name, place: String(sequence), what, state: 'bad' };
    });
    const live: FoundEndpoint[] = [];
    for await (const endpoint of this.endpointsOf(account)) {
      const what = loggedFlaw(logged, 'endpoint', endpoint);
      if (what !== undefined) {
        faults.push({ kind: 'endpoint', account: account.name, place: endpoint.id, what, state: 'bad' });
      } else if (endpoint.isLive) {
        live.push(endpoint);
      }
    }
    const stopped = await this.stoppedFaults(account, live);
    const { credentials, operatorCredentials, persons } = this.recordStore.kinds;
    const isOperator = account.aid === '';
    const ofCredentials = isOperator ? operatorCredentials : credentials;
    return [
      ...faults,
      ...stopped,
      ...(await this.stateFaults('credential', ofCredentials, account, logged)),
      ...(isOperator ? [] : await this.stateFaults('person', persons, account, logged)),
    ];
  }

  /** Reads the states of endpoints, credentials and people from all entries of a log. */
  async readLoggedStates(aid: string): Promise<LoggedStates> {
    const logged: LoggedStates = { newest: new Map(), older: new Set(), gone: new Set(), missing: [] };
    const bounds = await this.describeLog(aid);
    const newest = bounds?.head.sequence ?? 0;
    for (let first = (bounds?.start.sequence ?? 0) + 1; first <= newest; first += STEP) {
      const sequences = Array.from({ length: Math.min(STEP, newest - first + 1) }, (_, i) => first + i);
      const found = await this.auditStore.read(aid, sequences);
      logged.missing.push(...sequences.filter((_, i) => found[i] === undefined));
      const entries = found.map((entry) => entry ?? new Uint8Array(0));
      for (const change of await this.crypto.readChanges({ aid, first, entries })) {
        addChange(logged, change);
      }
    }
    return logged;
  }

  /** Reads the ends of a log; undefined if one of them does not open, which is reported with its record. */
  private async describeLog(aid: string) {
    const { entries: _, ...marks } = await this.auditStore.readMarks(aid);
    return recover(this.crypto.describeChain({ aid, ...marks }), 'integrity_failed', undefined);
  }

  private async *endpointsOf({ aid }: LiveAccount): AsyncGenerator<FoundEndpoint> {
    for await (const page of this.recordStore.pages(this.recordStore.kinds.endpoint, aid)) {
      const live = new Set(page.filter(({ label }) => label === 'endpoint wrap').map(({ id }) => id));
      for (const { id, label, facts } of await this.walk.open(page)) {
        if (label === 'endpoint' && facts !== undefined) {
          yield { id, facts, isLive: live.has(id) };
        }
      }
    }
  }

  /** Finds endpoints that a passphrase change has stopped, or whose key is gone, and that a secret still opens. */
  private async stoppedFaults(
    account: LiveAccount,
    live: readonly FoundEndpoint[],
  ): Promise<readonly Fault[]> {
    // After the endpoints: a newer generation is stored before the endpoints of the older one are stopped.
    const { generations, unfinished } = await this.readGenerations(account);
    return live.flatMap(({ id, facts: { kid = '', gen = 0 } }): Fault[] => {
      const newest = generations.get(kid);
      if (newest !== undefined && gen >= newest) {
        return [];
      }
      const what =
        newest === undefined
          ? 'its vault key was deleted, and it is there'
          : 'a passphrase change has stopped it, and it is there again';
      const state = unfinished.has(kid) ? 'unfinished' : 'bad';
      return [{ kind: 'endpoint', account: account.name, place: id, what, state }];
    });
  }

  /** Reads the newest generations of the keys of an account, and the keys whose change or deletion is not finished. */
  private async readGenerations(account: LiveAccount) {
    const generations = new Map<string, number>();
    for await (const { kid, gen } of this.walk.keys(account)) {
      generations.set(kid, gen);
    }
    const changes = await this.keyStore.changesLeft(account.aid);
    const purges = await this.keyStore.purgesLeft(account.aid);
    return { generations, unfinished: new Set([...changes.map(({ kid }) => kid), ...purges]) };
  }

  /** Finds records of a kind of an account that have ended by its security log, or are older than it says. */
  private async stateFaults(
    kind: 'credential' | 'person',
    records: RecordKind,
    { aid, name }: LiveAccount,
    logged: LoggedStates,
  ): Promise<readonly Fault[]> {
    const faults: Fault[] = [];
    for await (const page of this.recordStore.pages(records, aid)) {
      for (const { id, facts } of await this.walk.open(page)) {
        const what = facts && loggedFlaw(logged, kind, { id, facts });
        if (what !== undefined) {
          faults.push({ kind, account: name, place: id, what, state: 'bad' });
        }
      }
    }
    return faults;
  }
}

function addChange({ newest, older, gone }: LoggedStates, change: RecordChange): void {
  if (change.kind === 'account') {
    return;
  }
  const { kind, id, digest, isGone } = change;
  if (isGone) {
    gone.add(digest);
    return;
  }
  const name = `${kind} ${id}`;
  const before = newest.get(name);
  if (before !== undefined) {
    older.add(before);
  }
  newest.set(name, digest);
}

/**
 * Describes the flaw of an endpoint or a credential by the log. One that the log does not contain was created by a
 * version that recorded none, or by a process that died before its entry, and its secret was never shown.
 */
function loggedFlaw(
  { newest, older, gone }: LoggedStates,
  kind: keyof typeof OLDER,
  { id, facts: { digest = '' } }: { readonly id: string; readonly facts: RecordFacts },
): string | undefined {
  if (gone.has(digest)) {
    return 'it was deleted, and is there again';
  }
  const isOlder = older.has(digest) && newest.get(`${kind} ${id}`) !== digest;
  return isOlder ? OLDER[kind] : undefined;
}
