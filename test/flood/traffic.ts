/** Requests of the floods and of the accounts measured at the same time, and the items stored for them. */
import { send } from '../bench/load.ts';
import { say } from '../bench/processes.ts';
import type { SendOrder, Sent } from '../bench/sender.ts';
import { call, type Vault } from '../bench/servers.ts';
import {
  decrypting,
  FLOOD,
  FLOOD_COLD,
  makeKey,
  requestOf,
  SMALL,
  SMALL_COLD,
  signingIn,
  storing,
} from './world.ts';

/** One line of the table. */
export interface Row {
  readonly flood: string;
  readonly measured: string;
  readonly value: string;
  readonly aim: string;
  readonly isReached: boolean | undefined;
}

/** The world in which all floods run. */
export interface World {
  readonly vault: Vault;
  readonly folder: string;
  /** Seconds of each flood. */
  readonly seconds: number;
  readonly rows: Row[];
}

/** Requests at a rate, or as fast as replies come. */
export type Traffic = Pick<SendOrder, 'requests' | 'connections'> & { readonly perSecond?: number };

/** Requests of the small account, at a rate that the service hardly notices. */
interface Small {
  readonly store: Traffic;
  readonly decrypt: Traffic;
  /** Decrypts that each pay the full derivation; a core is busy with them for a third of the time. */
  readonly unlock: Traffic;
}

/** Some hundreds of answers in a few seconds: the p99 of fewer would be the slowest one. */
const IDLE_PER_SECOND = 100;
/** Keys whose passphrases are never kept: requests for the same one at the same time share their derivation. */
const COLD_KEYS = 8;
const UNLOCKS_PER_SECOND = 2;
/** Number of source addresses of the password guesses, each with different passwords. */
const GUESSING_SOURCES = 1_000;
const GUESSES = 12_000;

/** Sends traffic; resolves when it is done. */
export function run(
  { vault, folder, seconds }: World,
  traffic: Traffic,
  forSeconds = seconds,
): Promise<Sent> {
  const isLow = traffic.perSecond === undefined;
  return send(folder, { port: vault.port, seconds: forSeconds, isLow, ...traffic });
}

/** The longest that the thread of HTTP kept anybody waiting: what health answered at its slowest. */
export const HEALTH: Traffic = {
  requests: [requestOf('GET', '/health/live', {})],
  connections: 4,
  perSecond: 50,
};

/** Everything that the floods are made of, and the small account's traffic. */
export async function prepare(world: World, listed: number) {
  const { vault } = world;
  say('making keys');
  const warm = await makeKey(vault, FLOOD, 'warm', 100);
  const own = await makeKey(vault, SMALL, 'own', 100);
  const [cold, ownCold]: [string[], string[]] = [[], []];
  for (let n = 0; n < COLD_KEYS; n++) {
    cold.push(...(await makeKey(vault, FLOOD_COLD, `cold-${n}`, 1)));
    ownCold.push(...(await makeKey(vault, SMALL_COLD, `cold-${n}`, 1)));
  }
  await makeKey(vault, SMALL, 'new', 1);
  for (const user of ['new', 'big', 'some']) {
    await makeKey(vault, FLOOD, user, 1);
  }
  say(`storing ${listed} cards to list`);
  const fill = async (user: string, many: number): Promise<void> => {
    for (let left = many; left > 0; ) {
      const sent = await run(world, { requests: storing(FLOOD, user), connections: 32 }, 5);
      left -= sent.statuses['200'] ?? 0;
    }
  };
  await fill('big', listed);
  await fill('some', Math.min(listed, 5_000));
  const made = await call(vault, FLOOD, '/v1/capture?user=new', {});
  const { url, secret } = (await made.json()) as { readonly url: string; readonly secret: string };
  const capturing = (withSecret: string): string =>
    requestOf('POST', url, { 'X-Vault-Capture-Secret': withSecret }, '{"card_number":"411111@SEQ@"}');
  const small: Small = {
    store: { requests: storing(SMALL, 'new'), connections: 32, perSecond: IDLE_PER_SECOND },
    decrypt: { requests: decrypting(SMALL, own), connections: 32, perSecond: IDLE_PER_SECOND },
    unlock: { requests: decrypting(SMALL_COLD, ownCold), connections: 8, perSecond: UNLOCKS_PER_SECOND },
  };
  const get = (query: string): readonly string[] => [requestOf('GET', `/v1/vault/?${query}`, FLOOD)];
  return {
    small,
    cold: { requests: decrypting(FLOOD_COLD, cold), connections: 200, perSecond: 100 },
    stores: (connections: number): Traffic => ({ requests: storing(FLOOD, 'new'), connections }),
    reads: (connections: number): Traffic => ({ requests: decrypting(FLOOD, warm), connections }),
    captures: { requests: [capturing(secret)], connections: 32, perSecond: IDLE_PER_SECOND },
    guesses: { requests: [capturing(`${secret.slice(0, -10)}@SEQ@`)], connections: 64, perSecond: 500 },
    passwords: { requests: signingIn(GUESSES, GUESSING_SOURCES), connections: 512, perSecond: 200 },
    pages: { requests: get('user=big&limit=1000'), connections: 32 },
    listAll: { requests: get('user=big&limit=-1'), connections: 2 },
    openAll: { requests: get('user=some&decrypt_all=true&limit=-1'), connections: 2 },
  };
}

/** Everything that the floods are made of, and the small account's traffic. */
export type Prepared = Awaited<ReturnType<typeof prepare>>;
