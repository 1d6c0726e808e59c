/** One source that guesses the password of an account, beside another source that has the right one. */
import { withCpu } from '../bench/cpu.ts';
import { makeFolder, say } from '../bench/processes.ts';
import { startVault, type Vault } from '../bench/servers.ts';
import { run, type World } from './traffic.ts';
import { decrypting, makeAccounts, makeKey, requestOf, SMALL } from './world.ts';

const GUESSES = 1_000;
const PER_SECOND = 50;
const SECONDS = GUESSES / PER_SECOND;
/** The first ten are verified, and a few of those that are under way when they fail. */
const LOCKED_MIN = 985;
/** Of a core. */
const CPU_MAX = 0.3;
const GUESSER = '198.18.0.1';
const OWNER = '198.18.0.2';

function guessing(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) =>
    requestOf('GET', '/v1/whoami', {
      Authorization: `Basic ${btoa(`small:wrong password number ${n}`)}`,
      'X-Forwarded-For': GUESSER,
    }),
  );
}

/** Sends what the owner sends, alone and with the guesses; gives the CPU time that the guesses cost, in parts of a core. */
async function guess(world: World, addresses: readonly string[]) {
  const { pid, redisPid } = world.vault;
  const owner = {
    requests: decrypting({ ...SMALL, 'X-Forwarded-For': OWNER } as typeof SMALL, addresses),
    connections: 8,
    perSecond: PER_SECOND,
  };
  const spent = async <T>(work: () => Promise<T>) => {
    const { result, split } = await withCpu({ serverPid: pid, redisPid }, work);
    return { done: result, cpu: Object.values(split).reduce((sum, part) => sum + part, 0) / SECONDS };
  };
  const alone = await spent(() => run(world, owner, SECONDS));
  const guesses = { requests: guessing(GUESSES), connections: 8, perSecond: PER_SECOND };
  const both = await spent(() => Promise.all([run(world, guesses, SECONDS), run(world, owner, SECONDS)]));
  const [wrong, right] = both.done;
  return { wrong, right, cpu: both.cpu - alone.cpu };
}

/** The status of one more guess. */
async function oneMore({ port }: Vault): Promise<number> {
  const headers = { Authorization: `Basic ${btoa('small:one more')}`, 'X-Forwarded-For': GUESSER };
  return (await fetch(`http://127.0.0.1:${port}/v1/whoami`, { headers })).status;
}

/** A vault of its own, for it is killed: the lock is there afterwards. */
export async function besideOneGuesser({ rows, seconds }: World): Promise<void> {
  const flood = `${GUESSES} wrong passwords of one source, ${PER_SECOND}/s`;
  say(flood);
  const folder = makeFolder();
  const settings = { VAULT_TRUSTED_PROXIES: '127.0.0.1' };
  let vault = await startVault(folder, settings);
  try {
    await makeAccounts(vault, ['small']);
    const addresses = await makeKey(vault, SMALL, 'own', 10);
    const { wrong, right, cpu } = await guess({ vault, folder, seconds, rows }, addresses);
    const locked = wrong.statuses['429'] ?? 0;
    const add = (measured: string, value: string, aim: string, isReached: boolean): void => {
      rows.push({ flood, measured, value, aim, isReached });
    };
    const isFast = wrong.otherWithin5Ms >= LOCKED_MIN;
    const counts = `${JSON.stringify(wrong.statuses)}; ${wrong.otherWithin5Ms} of all within 5 ms, p99 ${wrong.otherP99Ms.toFixed(1)} ms`;
    add('refusals', counts, `>= ${LOCKED_MIN} are 429 within 5 ms`, locked >= LOCKED_MIN && isFast);
    add('CPU of server and Redis for it', `${(100 * cpu).toFixed(1)} % of a core`, '< 30 %', cpu < CPU_MAX);
    const isRight = right.unanswered === 0 && Object.keys(right.statuses).join() === '200';
    add('the owner, from another source', JSON.stringify(right.statuses), 'all 200', isRight);
    process.kill(vault.pid, 'SIGKILL');
    await vault.stop();
    vault = await startVault(folder, settings);
    const status = await oneMore(vault);
    add('the next guess after kill -9 and a new start', String(status), '429', status === 429);
  } finally {
    await vault.stop();
  }
}
