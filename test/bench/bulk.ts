/** Decrypting everything under a key in one reply, with what must have been written down for it. */
import { PLAIN } from './cards.ts';
import { withCpu, withGrowth } from './cpu.ts';
import type { OperationRow } from './phases.ts';
import { call, type Vault } from './servers.ts';
import { type Figure, median } from './stats.ts';

const SCAN_STEP = 5_000;
const MIB = 1_048_576;
const RATE_AIM = 55_000;

/** How often anything was written down, over all items and accounts. */
interface Written {
  readonly logEntries: number;
  readonly decrypts: number;
}

async function* keysLike(vault: Vault, pattern: string): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, keys] = await vault.redis.scan(cursor, 'MATCH', pattern, 'COUNT', SCAN_STEP);
    cursor = next;
    if (keys.length > 0) {
      yield keys;
    }
  } while (cursor !== '0');
}

/** A count; that of a log has the last 16 bytes of its newest entry behind it. */
function countIn(field: Buffer): number {
  return Number(field.subarray(0, field.length > 16 ? -16 : undefined).toString('latin1'));
}

async function sumField(vault: Vault, pattern: string, field: string): Promise<number> {
  const values = new Map<string, number>();
  for await (const keys of keysLike(vault, pattern)) {
    const found = await Promise.all(keys.map((key) => vault.redis.hgetBuffer(key, field)));
    // A scan may come upon a key twice.
    for (const [i, key] of keys.entries()) {
      values.set(key, countIn(found[i] ?? Buffer.from('0')));
    }
  }
  return values.values().reduce((sum, value) => sum + value, 0);
}

/** Reads the counts where the vault keeps them: `n` of each item, decryptions of this day in buckets, and of accounts. */
async function readWritten(vault: Vault): Promise<Written> {
  const today = `${new Date().toISOString().slice(0, 10)} decrypt`;
  return {
    logEntries: await sumField(vault, '{*.*}i*', 'n'),
    decrypts: (await sumField(vault, '{*.*}n', today)) + (await sumField(vault, '{a:*}u:*', 'decrypt')),
  };
}

interface Run {
  readonly seconds: number;
  readonly firstByteMs: number;
}

async function runOnce(vault: Vault, cards: number): Promise<Run> {
  const from = performance.now();
  const response = await call(
    vault,
    PLAIN.credentials,
    `/v1/vault/?user=${PLAIN.user}&decrypt_all=true&limit=-1`,
  );
  const chunks: Uint8Array[] = [];
  let firstByteMs = 0;
  for await (const chunk of response.body ?? []) {
    if (chunks.length === 0) {
      firstByteMs = performance.now() - from;
    }
    chunks.push(chunk);
  }
  const seconds = (performance.now() - from) / 1_000;
  const text = Buffer.concat(chunks);
  const items = (JSON.parse(text.toString('utf8')) as Record<string, { data: { card_number: string } }[]>)[
    PLAIN.user
  ];
  const whole = items?.filter(({ data }) => data.card_number.length === 16).length ?? 0;
  if (whole !== cards) {
    throw new Error(`decrypt_all gave ${whole} cards instead of ${cards}`);
  }
  return { seconds, firstByteMs };
}

function checkWritten(before: Written, after: Written, expected: number): void {
  const logEntries = after.logEntries - before.logEntries;
  const decrypts = after.decrypts - before.decrypts;
  if (logEntries !== expected || decrypts !== expected) {
    throw new Error(
      `decrypt_all of ${expected} cards wrote ${logEntries} log entries and counted ${decrypts} decrypts`,
    );
  }
}

/**
 * Decrypts all of the `PLAIN` cards in one reply, `repeats` times after one to warm up. Rejects unless each reply
 * is whole and exactly one log entry and one metered decrypt were added for each card of it.
 */
export async function measureDecryptAll(
  vault: Vault,
  cards: number,
  repeats: number,
): Promise<{ readonly figures: Figure[]; readonly row: OperationRow }> {
  const before = await readWritten(vault);
  const warm: Run[] = [];
  const { result, grown } = await withGrowth(vault.pid, async () => {
    await runOnce(vault, cards);
    const own = process.cpuUsage();
    const { split } = await withCpu({ serverPid: vault.pid, redisPid: vault.redisPid }, async () => {
      for (let i = 0; i < repeats; i++) {
        warm.push(await runOnce(vault, cards));
      }
    });
    // The benchmark itself is the client here.
    const { user, system } = process.cpuUsage(own);
    return { ...split, load: (user + system) / 1e6 };
  });
  checkWritten(before, await readWritten(vault), (1 + repeats) * cards);
  const name = `decrypt_all of ${cards.toLocaleString('en-US')}`;
  const rates = warm.map(({ seconds }) => cards / seconds);
  return {
    figures: [
      { name, value: median(rates), unit: 'cards/s', aim: { least: RATE_AIM } },
      { name: `${name}, first byte`, value: median(warm.map((run) => run.firstByteMs)), unit: 'ms' },
      { name: `${name}, growth of the server's memory`, value: grown / MIB, unit: 'MiB' },
    ],
    row: {
      name: 'decrypt_all, a card: Cardvault',
      connections: 1,
      rates,
      seconds: warm.reduce((sum, { seconds }) => sum + seconds, 0),
      requests: warm.length * cards,
      split: result,
    },
  };
}
