import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { commandJson, runCommand } from '../helpers/command.ts';
import { useEndpoint } from '../helpers/endpoints.ts';
import { furnish, REPEATABLE } from '../helpers/furnish.ts';
import { CARD, jobsOf, localProxy, proxyPost, requestTo } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';

const OLD = new Uint8Array(32).fill(7);
const NEW = new Uint8Array(32).fill(9);
const OLD_ONLY = new Map([['old', OLD]]);
const BOTH = new Map([
  ['new', NEW],
  ['old', OLD],
]);
const NEW_ONLY = new Map([['new', NEW]]);

/** What a record under this key begins with. */
function headOf(id: string, type: number): Buffer {
  return Buffer.concat([Buffer.of(1, type, 1, 0), createHash('sha256').update(id).digest().subarray(0, 4)]);
}

/** Names of Redis keys whose values hold a record under this master key. */
async function keysUnder(vault: TestVault, id: string): Promise<string[]> {
  const heads = [headOf(id, 0x20), headOf(id, 0x21)];
  const found: string[] = [];
  for (const name of await vault.raw.keys('*')) {
    const type = await vault.raw.type(name);
    const values =
      type === 'string'
        ? [await vault.raw.getBuffer(name)]
        : type === 'hash'
          ? await vault.raw.hvalsBuffer(name)
          : [];
    if (values.some((value) => value !== null && heads.some((head) => value.includes(head)))) {
      found.push(name);
    }
  }
  return found;
}

const KINDS = [
  'account',
  'certificate',
  'compliance',
  'connection',
  'credential',
  'csr',
  'csr key',
  'endpoint',
  'endpoint wrap',
  'event subscription',
  'form',
  'item',
  'job',
  'key',
  'log',
  'passphrase wraps',
  'person',
  'recovery',
  'reply',
  'root',
  'rule',
  'sealing key',
  'security log',
  'session',
];

let party: ThirdParty;
let old: TestVault;

beforeAll(async () => {
  party = await startThirdParty();
  old = await openTestVault({ masterKeys: OLD_ONLY, proxy: await localProxy(), jobs: false });
  party.script('/pay', 200);
  party.script('/hook', 200);
});
afterAll(async () => {
  await old.close();
  party.stop();
});

interface Rotated {
  readonly done: boolean;
  readonly reencrypted: number;
  readonly lostTotal: number;
  readonly removable: readonly string[];
  readonly keys: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const REFERENCE = { reference: 'order/1' };

test('a master key is changed while requests run, and the old one is not needed any more', async () => {
  const made = await furnish(old);
  const { client } = made;
  await Promise.all(Array.from({ length: 400 }, (_, n) => client.store('u', { card_number: `9${n}` })));
  const server = await old.secondServer({ masterKeys: BOTH, jobs: true });
  const live = client.via(server.handle);
  let running = true;
  const rounds = { reads: 0, jobs: 0 };
  const failures: string[] = [];
  const must = async (what: string, work: Promise<Answer>): Promise<void> => {
    const { outcome } = await work;
    if (outcome !== '200') {
      failures.push(`${what}: ${outcome}`);
    }
  };
  const entered = { passphrase: PASSPHRASE };
  const query = { user: 'u', token: made.opened };
  const item = { ...query, account: live };
  const whileRunning = async (round: () => Promise<void>): Promise<void> => {
    while (running) {
      await round();
    }
  };
  const change = (own: number) => async (): Promise<void> => {
    rounds.reads += 1;
    const body = { [`f${own}`]: rounds.reads };
    await must('decrypt', live.send('GET', '/vault', { query, ...entered }));
    await must('update', live.send('POST', '/vault/update', { query, ...entered, body }));
    const card = { card_number: `${own}0${rounds.reads}`, cvv: '123' };
    await must('store', live.send('POST', '/vault', { query: { user: 'u' }, ...entered, body: card }));
    await must('log', live.send('GET', '/vault/metadata', { query }));
  };
  const pass = async (): Promise<void> => {
    const { capture, retrieve } = made;
    const body = { card_number: '6011111111111117' };
    await must('list', live.send('GET', '/vault', { query: { user: 'u', limit: 5 } }));
    await must('capture', useEndpoint(server, 'POST', capture.url, { secret: capture.secret, body }));
    const wanted = { secret: retrieve.secret, query: { token: made.opened } };
    await must('retrieve', useEndpoint(server, 'GET', retrieve.url, wanted));
    await must('rule', live.send('GET', '/rule', { query: { id: 'r' } }));
  };
  const charge = async (): Promise<void> => {
    rounds.jobs += 1;
    const request = requestTo(party.url('/pay'), { body: '{{card_number}}' });
    await must('proxy', proxyPost(item, { request, synchronous: true }));
    const webhook = { url: party.url('/hook'), max_attempts: 3 };
    await must('job', proxyPost(item, { request, synchronous: false, webhook }));
  };
  const loads = [
    ...[1, 2, 3].map((own) => whileRunning(change(own))),
    whileRunning(pass),
    whileRunning(charge),
  ];
  while (rounds.jobs < 2) {
    await Bun.sleep(1);
  }
  const result = await commandJson<Rotated>(server, 'rotate-master');
  running = false;
  await Promise.all(loads);
  party.script('/hook', 200);
  while ((await jobsOf(server, client)) > 1) {
    await Bun.sleep(5);
  }

  expect(failures).toEqual([]);
  expect(Math.min(rounds.reads, rounds.jobs)).toBeGreaterThan(3);
  expect(result).toMatchObject({ done: true, lostTotal: 0, removable: ['old'] });
  expect(Object.keys(result.keys).sort()).toEqual(KINDS);
  expect(await keysUnder(server, 'old')).toEqual([]);
  await server.close();

  const alone = await old.secondServer({ masterKeys: NEW_ONLY });
  const after = client.via(alone.handle);
  expect(JSON.parse(await after.open('u', made.card, REFERENCE))).toEqual(CARD);
  expect(JSON.parse(await after.open('u', made.captured, { reference: made.capturedReference }))).toEqual({
    card_number: '6011111111111117',
  });
  const log = await after.send('GET', '/vault/metadata', { query: { ...query, limit: -1 } });
  expect(log.outcome).toBe('200');
  // Its making, three readings, the job that waits; two entries for each round, and three for each charge.
  expect(log.as<unknown[]>().length).toBeGreaterThanOrEqual(5 + 2 * rounds.reads + 2 * rounds.jobs);
  const again = await after.send('POST', '/vault', REPEATABLE);
  expect([again.outcome, again.json]).toEqual(['200', made.replied.json]);
  await alone.close();
});

test('a second run changes nothing, and two at once do no harm', async () => {
  const server = await old.secondServer({ masterKeys: BOTH });
  const both = await Promise.all([
    runCommand(['rotate-master', '--json'], { vault: server }),
    runCommand(['rotate-master', '--json'], { vault: server }),
  ]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(await commandJson<Rotated>(server, 'rotate-master')).toMatchObject({ reencrypted: 0, done: true });
  await server.close();
});
