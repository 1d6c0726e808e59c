/** Load on two servers, and what became of it. */
import { PASSPHRASE } from '../helpers/clients.ts';
import type { ClusterServers } from './servers.ts';

const WRITERS = 8;
const RECOVERY_MS_MAX = 15_000;
/** How long everything must have gone well to count as recovered. */
const QUIET_MS = 1_500;

/** Stores that go on without a pause. */
export interface Load {
  /** What was acknowledged: token and number. */
  readonly stored: ReadonlyMap<string, string>;
  /** Requests that failed, by their outcome. */
  readonly failed: ReadonlyMap<string, number>;
  /** Requests that succeeded while others failed. */
  readonly through: () => number;
  /** When the last request failed, in ms of `performance.now`; 0 for never. */
  readonly lastFailure: () => number;
  readonly end: () => Promise<void>;
}

/** Stores without a pause through both servers, until it is ended. */
export function startLoad({ client }: ClusterServers): Load {
  const stored = new Map<string, string>();
  const failed = new Map<string, number>();
  let [count, through, last, going] = [0, 0, 0, true];
  const write = async (): Promise<void> => {
    while (going) {
      count += 1;
      const number = `${count}`;
      const sending = { query: { user: 'u' }, passphrase: PASSPHRASE, body: { number } };
      const answer = await client.send('POST', '/vault', sending);
      if (answer.status === 200) {
        stored.set(answer.as<{ token: string }>().token, number);
        through += last > 0 ? 1 : 0;
      } else {
        const retry = Number(answer.headers.get('retry-after')) > 0 ? '' : ' without Retry-After';
        const outcome = `${answer.outcome}${retry}`;
        failed.set(outcome, (failed.get(outcome) ?? 0) + 1);
        last = performance.now();
      }
    }
  };
  const writers = Promise.all(Array.from({ length: WRITERS }, write));
  return {
    stored,
    failed,
    through: () => through,
    lastFailure: () => last,
    async end() {
      going = false;
      await writers;
    },
  };
}

/** Waits until something is so. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) {
    await Bun.sleep(20);
  }
}

/** Waits until nothing has failed for a while; gives the ms from `since` to the last failure. */
export async function recovery(load: Load, since: number): Promise<number> {
  while (performance.now() - Math.max(load.lastFailure(), since) < QUIET_MS) {
    if (performance.now() - since > RECOVERY_MS_MAX) {
      throw new Error('the servers did not recover');
    }
    await Bun.sleep(20);
  }
  return Math.max(0, load.lastFailure() - since);
}

/** Acknowledged items that do not open any more. */
export async function missing({ client }: ClusterServers, stored: Load['stored']): Promise<string[]> {
  const opened = await Promise.all(
    [...stored].map(async ([token, number]) => {
      const sending = { query: { user: 'u', token }, passphrase: PASSPHRASE };
      const answer = await client.send('GET', '/vault', sending);
      return answer.text === `{"number":"${number}"}` ? [] : [token];
    }),
  );
  return opened.flat();
}
