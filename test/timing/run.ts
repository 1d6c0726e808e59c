/**
 * Measures refusals that nobody may tell apart: their answers are one, and the medians of their times lie close together.
 * Requests of a group are interleaved, in an order by chance: `bun test/timing/run.ts [--seed N] [--samples N] [--only WORD]`.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { renderTable } from '../bench/report.ts';
import { median } from '../bench/stats.ts';
import { chanceOfCase } from '../fuzz/chance.ts';
import { OWNER, runVaultCommand } from '../helpers/server-process.ts';
import { endAll, newFolder, startProcess } from '../serving/process.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    samples: { type: 'string', default: '300' },
    only: { type: 'string' },
  },
});
const seed = Number(values.seed ?? randomInt(1_000_000));
const samples = Number(values.samples);
const chance = chanceOfCase(seed, 'timing', 0);

const PASSPHRASE = 'a passphrase of this measurement';
/** Until code is compiled that the measured requests share; a guess that is stretched is long enough without. */
const WARM_UP = { fast: 300, stretched: 10 } as const;
/** Of the form of a generated password. */
const SHAPED = 'Y'.repeat(43);
const EXPIRED_MS = 1_500;

/** One way to be refused. */
interface Way {
  readonly name: string;
  readonly send: () => Promise<Response>;
}

/** Ways whose answers are one, and how far their medians may be apart: the longest by the shortest. */
interface Group {
  readonly name: string;
  readonly ratioMax: number;
  readonly cost: keyof typeof WARM_UP;
  readonly ways: readonly Way[];
}

let base = '';
function basic(name: string, password: string): Readonly<Record<string, string>> {
  return { Authorization: `Basic ${btoa(`${name}:${password}`)}` };
}
const SIGNED_IN = { ...basic(OWNER.name, OWNER.password), 'X-Vault-Passphrase': PASSPHRASE };

function request(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body?: object,
  at = base,
) {
  return fetch(`${at}${path}`, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
}

async function made(path: string, body?: object): Promise<Readonly<Record<string, string>>> {
  const reply = await request('POST', path, SIGNED_IN, body);
  const text = await reply.text();
  if (reply.status !== 200) {
    throw new Error(`${path}: ${reply.status} ${text}`);
  }
  return JSON.parse(text);
}

/** Status and body, without what differs each time. */
async function answerOf(reply: Response): Promise<string> {
  return `${reply.status} ${(await reply.text()).replace(/"(request_id":"[^"]*"|retry_after":\d+)/g, '')}`;
}

interface Measured {
  readonly medians: readonly number[];
  readonly answers: ReadonlySet<string>;
}

async function measure({ cost, ways }: Group): Promise<Measured> {
  const times: readonly number[][] = ways.map(() => []);
  const answers = new Set<string>();
  for (let n = -WARM_UP[cost]; n < samples; n++) {
    const order = ways.map((way, at) => ({ way, at, rank: chance.int(1_000_000) }));
    for (const { way, at } of order.sort((a, b) => a.rank - b.rank)) {
      const begun = performance.now();
      const reply = await way.send();
      const answer = await answerOf(reply);
      if (n >= 0) {
        times[at]?.push(performance.now() - begun);
        answers.add(answer);
      }
    }
  }
  return { medians: times.map((of) => median(of)), answers };
}

/** Starts a server that locks after one wrong password; its address. */
async function startLocking(): Promise<string> {
  const folder = newFolder();
  const settings = { VAULT_DATA_DIR: join(folder, 'data'), VAULT_AUTH_FAILURES_MAX: '1' };
  const port = await startProcess(settings).ready;
  await runVaultCommand(['account', 'create', 'other', '--json'], settings, folder);
  return `http://127.0.0.1:${port}/v1`;
}

async function groups(folder: string, settings: Readonly<Record<string, string>>): Promise<readonly Group[]> {
  const other = await runVaultCommand(['account', 'create', 'other', '--json'], settings, folder);
  const foreign = basic('other', JSON.parse(other.out).password);
  const lockedAt = await startLocking();
  for (const user of ['mine', 'deleted']) {
    await made('/key', { user, passphrase: PASSPHRASE });
  }
  await request('POST', '/key', foreign, { user: 'foreign', passphrase: PASSPHRASE });
  await request('DELETE', '/key?user=deleted&safe=false', SIGNED_IN);
  const card = { card_number: '4111111111111111' };
  const { token } = await made('/vault?user=mine', card);
  const read = (user: string) => () => request('GET', `/vault?user=${user}&token=${token}`, SIGNED_IN);
  const store = (user: string) => () => request('POST', `/vault?user=${user}`, SIGNED_IN, card);
  const signIns = (name: string, cost: Group['cost'], password: string, at = base): Group => ({
    name: `sign-in, ${name}`,
    ...{ ratioMax: 1.1, cost },
    ways: [
      ['unknown name', 'nobody'],
      ['chosen password', OWNER.name],
      ['generated password', 'other'],
    ].map(([way = '', user = '']) => ({
      name: way,
      send: () => request('GET', '/whoami', basic(user, password), undefined, at),
    })),
  });
  const ofKind = async (kind: 'capture' | 'retrieve'): Promise<Group> => {
    const [live, expired] = [await made(`/${kind}?user=mine`), await made(`/${kind}?user=mine&ttl=1s`)];
    await Bun.sleep(EXPIRED_MS);
    const use = (id = '', secret?: string) => {
      const headers = secret === undefined ? {} : { [`X-Vault-${kind}-Secret`]: secret };
      return kind === 'capture'
        ? () => request('POST', `/${kind}/${id}`, headers, card)
        : () => request('GET', `/${kind}/${id}?token=${token}`, headers);
    };
    const wrong = 'A'.repeat(live['secret']?.length ?? 0);
    const unknown = (live['unique_id'] ?? '').split('').reverse().join('');
    return {
      name: `${kind} endpoint`,
      ...{ ratioMax: 1.1, cost: 'fast' },
      ways: [
        { name: 'unknown id', send: use(unknown, wrong) },
        { name: 'wrong secret', send: use(live['unique_id'], wrong) },
        { name: 'expired, wrong secret', send: use(expired['unique_id'], wrong) },
      ],
    };
  };
  return [
    {
      name: 'key of a read',
      ...{ ratioMax: 1.2, cost: 'fast' },
      ways: ['missing', 'deleted', 'foreign'].map((name) => ({ name, send: read(name) })),
    },
    {
      name: 'key of a store',
      ...{ ratioMax: 1.2, cost: 'fast' },
      ways: ['missing', 'deleted', 'foreign'].map((name) => ({ name, send: store(name) })),
    },
    signIns('a guess of any form', 'stretched', 'a wrong password'),
    signIns('a guess of the generated form', 'fast', SHAPED),
    signIns('locked', 'fast', SHAPED, lockedAt),
    await ofKind('capture'),
    await ofKind('retrieve'),
  ];
}

async function main(): Promise<number> {
  const folder = newFolder();
  const settings = { VAULT_DATA_DIR: join(folder, 'data'), VAULT_AUTH_FAILURES_MAX: '0' };
  const server = startProcess(settings);
  base = `http://127.0.0.1:${await server.ready}/v1`;
  const rows: string[][] = [];
  let failed = 0;
  for (const group of await groups(folder, settings)) {
    if (!group.name.includes(values.only ?? '')) {
      continue;
    }
    const { medians, answers } = await measure(group);
    const ratio = Math.max(...medians) / Math.min(...medians);
    const isGood = ratio <= group.ratioMax && answers.size === 1;
    failed += isGood ? 0 : 1;
    group.ways.forEach(({ name }, at) => {
      rows.push([
        at === 0 ? group.name : '',
        name,
        `${(medians[at] ?? Number.NaN).toFixed(3)} ms`,
        at === 0 ? `${ratio.toFixed(3)} of ${group.ratioMax}` : '',
        at === 0 ? String(answers.size) : '',
        at === 0 ? (isGood ? 'yes' : 'NO') : '',
      ]);
    });
  }
  const head = ['Group', 'Way', 'Median', 'Ratio', 'Answers', 'As it must be'];
  process.stdout.write(`Seed ${seed}, ${samples} samples of each\n\n${renderTable({ head, rows })}\n`);
  return failed;
}

let failed = 1;
try {
  failed = await main();
} finally {
  await endAll();
}
process.exit(failed === 0 ? 0 : 1);
