import type { Fault } from './report.ts';
import type { MaintenanceDependencies } from './walk.ts';

/** An account whose records are verified. */
export interface VerifiedAccount {
  readonly aid: string;
  readonly name: string;
}

type Look = (kind: string, place: string, what: string, state?: Fault['state']) => Fault;

async function lookAtRequests(
  { recordStore }: MaintenanceDependencies,
  aid: string,
  look: Look,
): Promise<Fault[]> {
  const idsOf = async (kind: 'csr' | 'csr key'): Promise<Set<string>> => {
    const ids: string[] = [];
    for await (const page of recordStore.list(kind, aid)) {
      ids.push(...page.map(({ id }) => id));
    }
    return new Set(ids);
  };
  const [requests, keys] = [await idsOf('csr'), await idsOf('csr key')];
  return [
    ...[...requests.difference(keys)].map((id) => look('csr', id, 'its private key is not there')),
    ...[...keys.difference(requests)].map((id) => look('csr key', id, 'its request is not there')),
  ];
}

async function lookAtEndpoints(
  { endpointStore }: MaintenanceDependencies,
  aid: string,
  look: Look,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { id, nonce } of await endpointStore.entries(aid)) {
    const stored = await endpointStore.read(id);
    if (stored?.nonce !== nonce) {
      faults.push(look('endpoint directory', id, 'an entry has no endpoint', 'unfinished'));
    } else if (stored.aid !== aid) {
      faults.push(look('endpoint directory', id, 'the endpoint is another account’s'));
    } else if (stored.wrap === undefined && stored.stoppedAt === undefined) {
      faults.push(look('endpoint wrap', id, 'it is gone, and the endpoint was not stopped'));
    }
  }
  return faults;
}

async function lookAtForms(
  { formStore }: MaintenanceDependencies,
  aid: string,
  look: Look,
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const { id, nonce } of await formStore.entries(aid)) {
    const stored = await formStore.read(id);
    if (stored?.nonce !== nonce || stored.aid !== aid) {
      faults.push(look('form directory', id, 'an entry has no form', 'unfinished'));
    }
  }
  return faults;
}

async function lookAtJobs({ jobStore }: MaintenanceDependencies, aid: string, look: Look): Promise<Fault[]> {
  const faults: Fault[] = [];
  for await (const ids of jobStore.list(aid)) {
    const found = await Promise.all(ids.map((id) => jobStore.read(aid, id)));
    const missing = ids.filter((_, i) => found[i] === undefined);
    faults.push(...missing.map((id) => look('job directory', id, 'an entry has no job')));
  }
  return faults;
}

/** What belongs together in an account: requests and their keys, directories and what they name. */
export async function lookTogether(
  parts: MaintenanceDependencies,
  { aid, name }: VerifiedAccount,
): Promise<Fault[]> {
  const look: Look = (kind, place, what, state = 'bad') => ({ kind, account: name, place, what, state });
  const found = await Promise.all(
    [lookAtRequests, lookAtEndpoints, lookAtForms, lookAtJobs].map((of) => of(parts, aid, look)),
  );
  return found.flat();
}
