/**
 * Compares records with what the security log says of them, to find an older copy that was put back. An entry is written
 * after the change that it reports: a record that is ahead of the log is no fault.
 */
import type { RecordChange } from '../../../workers/jobs/audit/jobs.ts';
import type { RecordFacts } from '../../../workers/jobs/maintenance/jobs.ts';
import { recover } from '../../core/concurrency.ts';
import { REVISION_GONE } from '../../domain/account/revision.ts';
import type { Fault } from '../report.ts';
import type { FoundRecord } from '../store/records.ts';
import { keyPages, type LiveAccount, type MaintenanceDependencies, openAgain, openRecords } from '../walk.ts';

const STEP = 256;

/** What a security log says of the endpoints and credentials of its account, and whether entries of it are missing. */
interface LoggedStates {
  /** The digest of the newest state of each record, by kind and id, and of those before it. */
  readonly newest: Map<string, string>;
  readonly older: Set<string>;
  /** Digests of states that have ended. */
  readonly gone: Set<string>;
  /** Numbers of entries that are missing. */
  readonly missing: number[];
}

type LogParts = Pick<MaintenanceDependencies, 'auditStore' | 'crypto'>;

/** The ends of a log; undefined where one of them does not open, which is reported with its record. */
async function describeLog({ auditStore, crypto }: LogParts, aid: string) {
  const { entries: _, ...marks } = await auditStore.readMarks(aid);
  return recover(crypto.describeChain({ aid, ...marks }), 'integrity_failed', undefined);
}

/** Reads what all entries of a log say of endpoints and credentials. */
export async function readLoggedStates(parts: LogParts, aid: string): Promise<LoggedStates> {
  const { auditStore, crypto } = parts;
  const logged: LoggedStates = { newest: new Map(), older: new Set(), gone: new Set(), missing: [] };
  const bounds = await describeLog(parts, aid);
  const newest = bounds?.head.sequence ?? 0;
  for (let first = (bounds?.start.sequence ?? 0) + 1; first <= newest; first += STEP) {
    const sequences = Array.from({ length: Math.min(STEP, newest - first + 1) }, (_, i) => first + i);
    const found = await auditStore.read(aid, sequences);
    logged.missing.push(...sequences.filter((_, i) => found[i] === undefined));
    const entries = found.map((entry) => entry ?? new Uint8Array(0));
    for (const change of await crypto.readChanges({ aid, first, entries })) {
      addChange(logged, change);
    }
  }
  return logged;
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

/** What is wrong with the record of an account that opens, by its revision. */
export async function accountRollback(
  parts: Pick<MaintenanceDependencies, 'auditStore' | 'crypto' | 'recordStore'>,
  found: FoundRecord,
): Promise<readonly Fault[]> {
  const aid = (await openAgain(parts, found))?.facts?.aid;
  if (aid === undefined) {
    return [];
  }
  const newest = (await describeLog(parts, aid))?.head.revision ?? 0;
  // Read after the log: what the log names was written before.
  const facts = (await openAgain(parts, found))?.facts;
  if (facts?.aid !== aid || (facts.revision ?? 0) >= newest) {
    return [];
  }
  const what =
    newest === REVISION_GONE
      ? 'it was deleted, and is there again'
      : `it is older than its newest change: revision ${facts.revision ?? 0} instead of ${newest}`;
  return [{ kind: 'account', account: found.id, place: found.id, what, state: 'bad' }];
}

/** An endpoint as its records say: its policy, and whether a secret still opens it. */
interface FoundEndpoint {
  readonly id: string;
  readonly facts: RecordFacts;
  readonly isLive: boolean;
}

async function* endpointsOf(
  parts: MaintenanceDependencies,
  { aid }: LiveAccount,
): AsyncGenerator<FoundEndpoint> {
  const { recordStore } = parts;
  for await (const page of recordStore.pages(recordStore.kinds.endpoint, aid)) {
    const opened = await openRecords(parts, page);
    const live = new Set(page.filter(({ label }) => label === 'endpoint wrap').map(({ id }) => id));
    for (const [i, { id, label }] of page.entries()) {
      const facts = opened[i]?.facts;
      if (label === 'endpoint' && facts !== undefined) {
        yield { id, facts, isLive: live.has(id) };
      }
    }
  }
}

/** What is wrong with a record that is older than the log says. */
const OLDER = {
  endpoint: 'another endpoint was created under its id since',
  credential: 'it has got a new secret since, and is there as it was before',
} as const;

/**
 * What is wrong with an endpoint or a credential by the log. One that the log does not know at all was made by a version
 * that recorded none, or by a process that died before its entry, and its secret was never shown.
 */
function loggedFlaw(
  { newest, older, gone }: LoggedStates,
  kind: keyof typeof OLDER,
  { id, facts: { digest = '' } }: Pick<FoundEndpoint, 'id' | 'facts'>,
): string | undefined {
  if (gone.has(digest)) {
    return 'it was deleted, and is there again';
  }
  const isOlder = older.has(digest) && newest.get(`${kind} ${id}`) !== digest;
  return isOlder ? OLDER[kind] : undefined;
}

/** Credentials of an account that have ended by its security log, or are older than it says. */
async function credentialFaults(
  parts: MaintenanceDependencies,
  { aid, name }: LiveAccount,
  logged: LoggedStates,
): Promise<readonly Fault[]> {
  const { recordStore } = parts;
  const faults: Fault[] = [];
  for await (const page of recordStore.pages(recordStore.kinds.credentials, aid)) {
    const opened = await openRecords(parts, page);
    for (const [i, { id }] of page.entries()) {
      const facts = opened[i]?.facts;
      const what = facts && loggedFlaw(logged, 'credential', { id, facts });
      if (what !== undefined) {
        faults.push({ kind: 'credential', account: name, place: id, what, state: 'bad' });
      }
    }
  }
  return faults;
}

/** Newest generations of the keys of an account, and of keys whose change or deletion is not finished. */
async function readGenerations(parts: MaintenanceDependencies, account: LiveAccount) {
  const generations = new Map<string, number>();
  for await (const { keys } of keyPages(parts, account)) {
    for (const { kid, gen } of keys) {
      generations.set(kid, gen);
    }
  }
  const changes = await parts.keyStore.changesLeft(account.aid);
  const purges = await parts.keyStore.purgesLeft(account.aid);
  return { generations, unfinished: new Set([...changes.map(({ kid }) => kid), ...purges]) };
}

/** Endpoints that a passphrase change has stopped, or whose key is gone, and that a secret opens all the same. */
async function stoppedFaults(
  parts: MaintenanceDependencies,
  account: LiveAccount,
  live: readonly FoundEndpoint[],
): Promise<readonly Fault[]> {
  // After the endpoints: a newer generation is stored before the endpoints of the older one are stopped.
  const { generations, unfinished } = await readGenerations(parts, account);
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

/** Endpoints and credentials of an account that have ended by its security log or by the generation of their key, and are there. */
export async function recordRollbacks(
  parts: MaintenanceDependencies,
  account: LiveAccount,
): Promise<readonly Fault[]> {
  const logged = await readLoggedStates(parts, account.aid);
  const faults = logged.missing.map((sequence): Fault => {
    const what = 'the entry is missing';
    return { kind: 'security log', account: account.name, place: String(sequence), what, state: 'bad' };
  });
  const live: FoundEndpoint[] = [];
  for await (const endpoint of endpointsOf(parts, account)) {
    const what = loggedFlaw(logged, 'endpoint', endpoint);
    if (what !== undefined) {
      faults.push({ kind: 'endpoint', account: account.name, place: endpoint.id, what, state: 'bad' });
    } else if (endpoint.isLive) {
      live.push(endpoint);
    }
  }
  const stopped = await stoppedFaults(parts, account, live);
  return [...faults, ...stopped, ...(await credentialFaults(parts, account, logged))];
}
