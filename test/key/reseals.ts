/** Reseals as tests run them. */
import type { AccountClient } from '../helpers/clients.ts';

export interface Progress {
  readonly total: number;
  readonly done: number;
  readonly paused?: true;
  readonly finished_at?: string;
  /** Of an error. */
  readonly code?: string;
}

/** How often, and how many times, the progress is read. */
const PAUSE_MS = 20;
const TRIES_MAX = 3_000;

export async function progressOf(account: AccountClient, user: string): Promise<Progress> {
  return (await account.send('GET', '/key/reseal', { query: { user } })).as<Progress>();
}

/** Waits until the progress is as wanted; rejects with the last one if it never is. */
export async function untilProgress(
  account: AccountClient,
  user: string,
  isWanted: (progress: Progress) => boolean,
): Promise<Progress> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const progress = await progressOf(account, user);
    if (isWanted(progress)) {
      return progress;
    }
    await Bun.sleep(PAUSE_MS);
  }
  throw new Error(JSON.stringify(await progressOf(account, user)));
}

/** Waits for the end of a reseal. */
export function finished(account: AccountClient, user: string): Promise<Progress> {
  return untilProgress(account, user, ({ finished_at }) => finished_at !== undefined);
}

/** Runs a reseal to its end. */
export async function reseal(account: AccountClient, user: string, passphrase: string): Promise<Progress> {
  const started = await account.send('POST', '/key/reseal', { body: { user, passphrase } });
  if (started.status !== 200) {
    throw new Error(started.outcome);
  }
  return finished(account, user);
}
