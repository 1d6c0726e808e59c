import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Answer } from '../helpers/clients.ts';
import {
  attemptsBilled,
  type Item,
  jobsDone,
  jobsOf,
  localProxy,
  networkToken,
  newItem,
  proxyGet,
  proxyPost,
  requester,
  requestTo,
  sourcesOf,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { startListener, stopTargets } from '../outbound/target.ts';

/** A public address that is never dialled here: the other place is refused first. */
const PUBLIC = 'https://one.one.one.one.example.invalid/';

/** `test/outbound/destination.test.ts` has the others. */
const SPELLINGS = [
  'https://127.0.0.1:PORT/',
  'https://2130706433:PORT/',
  'https://localhost:PORT/',
  'https://[::1]:PORT/',
  'https://10.0.0.1/',
  'https://169.254.169.254/latest/meta-data/',
];
const NO_DESTINATIONS = [
  'http://example.com/',
  'https://user:password@example.com/',
  'https://example.com@127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\\@example.com/',
];

/** Listens on this machine in several ways at once, at one port. */
async function setTrap() {
  const first = await startListener();
  const second = await startListener(undefined, '::1', first.port);
  return { port: first.port, connections: () => first.connections() + second.connections() };
}

describe('without leave to reach this machine', () => {
  let vault: TestVault;
  let item: Item;
  let trap: Awaited<ReturnType<typeof setTrap>>;

  beforeAll(async () => {
    trap = await setTrap();
    const local = requester('local', `https://127.0.0.1:${trap.port}/`);
    vault = await openTestVault({ proxy: { requesters: [local] } });
    item = await newItem(vault);
  });
  afterAll(async () => {
    await vault.close();
    stopTargets();
  });

  const at = (url: string): string => url.replace('PORT', String(trap.port));
  const untouched = async (): Promise<void> => {
    expect(trap.connections()).toBe(0);
    expect(await attemptsBilled(vault, item.account)).toBe(0);
    expect(await jobsOf(vault, item.account)).toBe(0);
    const refused = /^decrypt proxy (?:destination_refused|invalid_request)$/;
    expect((await sourcesOf(item)).filter((entry) => !refused.test(entry))).toEqual(['encrypt vault']);
  };
  /** The same destination as target, synchronous and not, of both kinds, and as webhook of all three kinds. */
  const attempts = (url: string): Promise<Answer>[] => {
    const target = { request: requestTo(url) };
    const webhook = { url };
    return [
      proxyPost(item, { ...target, synchronous: true }),
      proxyPost(item, { ...target, webhook: { url: PUBLIC } }),
      proxyGet(item.account, { ...target, synchronous: true }),
      proxyGet(item.account, { ...target, webhook: { url: PUBLIC } }),
      proxyPost(item, { request: requestTo(PUBLIC), webhook }),
      proxyGet(item.account, { request: requestTo(PUBLIC), webhook }),
      networkToken(item, webhook, { requester_id: 'sim' }),
      networkToken(item, { webhook }, { requester_id: 'sim' }),
    ];
  };
  const FIELDS = [
    ...Array.from({ length: 4 }, () => 'body.request.url'),
    ...['body.webhook.url', 'body.webhook.url', 'body.url', 'body.webhook.url'],
  ];

  test.each([...SPELLINGS, ...NO_DESTINATIONS])('%j is refused before anything is opened', async (url) => {
    const answers = await Promise.all(attempts(at(url)));
    for (const [index, { outcome, field, text }] of answers.entries()) {
      // What no URL parser takes for a host is refused as malformed.
      expect(outcome).toMatch(/^400 (?:destination_refused|invalid_request)$/);
      expect(field).toBe(FIELDS[index]);
      expect(text).not.toContain('password@');
    }
    if (url.startsWith('https://127.0.0.1:PORT/') || url.startsWith('https://localhost:')) {
      expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['400 destination_refused']));
    }
    await untouched();
  });

  test('a requester there is not reached either', async () => {
    const answer = await networkToken(item, { url: PUBLIC }, { requester_id: 'local' });
    expect([answer.outcome, answer.field]).toEqual(['400 destination_refused', 'query.requester_id']);
    await untouched();
  });
});

describe('hosts of an account', async () => {
  const { vault, party } = await openProxySetting();
  party.script('/ok', 200);
  const named = (host: string): string => party.url('/ok').replace('127.0.0.1', host);

  test('are the only ones that it reaches, for targets and for webhooks', async () => {
    const item = await newItem(vault, undefined, { hosts: ['localhost'] });
    const before = party.connections();
    const post = (url: string, rest: object) => proxyPost(item, { request: requestTo(url), ...rest });
    const refused = [
      await post(named('127.0.0.1'), { synchronous: true }),
      await post(named('127.0.0.1'), { webhook: { url: named('localhost') } }),
      await post(named('localhost'), { webhook: { url: named('127.0.0.1') } }),
      await proxyGet(item.account, { request: requestTo(named('127.0.0.1')), synchronous: true }),
      await networkToken(item, { url: named('127.0.0.1') }, { requester_id: 'sim' }),
    ];
    expect(refused.map(({ outcome, field }) => `${outcome} ${field}`)).toEqual([
      '400 destination_refused body.request.url',
      '400 destination_refused body.request.url',
      '400 destination_refused body.webhook.url',
      '400 destination_refused body.request.url',
      '400 destination_refused body.url',
    ]);
    expect(party.connections()).toBe(before);
    expect((await post(named('localhost'), { synchronous: true })).outcome).toBe('200');
  });

  test('are those of the time of sending: nothing is sent to one that was taken back meanwhile', async () => {
    const item = await newItem(vault, undefined, { hosts: ['127.0.0.1'] });
    const receiver = createReceiver(party);
    const set = (hosts: readonly string[]) =>
      vault.opened.services.accounts.set(item.account.name, { hosts });
    party.script('/first', async () => {
      await set(['localhost']);
      return 500;
    });
    const url = receiver.webhook.url.replace('127.0.0.1', 'localhost');
    await set(['127.0.0.1', 'localhost']);
    const order = { request: requestTo(party.url('/first')), webhook: { ...receiver.webhook, url } };
    expect((await proxyPost(item, order, { attempts: 3 })).outcome).toBe('200');
    expect((await receiver.next()).json).toMatchObject({ code: 'destination_refused' });
    await jobsDone(vault, item.account);
    expect(party.calls('/first')).toHaveLength(1);
  });

  test('that were taken back are not told either', async () => {
    const item = await newItem(vault, undefined, { hosts: ['127.0.0.1', 'localhost'] });
    const receiver = createReceiver(party);
    party.script('/then', async () => {
      await vault.opened.services.accounts.set(item.account.name, { hosts: ['localhost'] });
      return 200;
    });
    const order = {
      request: requestTo(named('localhost').replace('/ok', '/then')),
      webhook: { ...receiver.webhook, max_attempts: 2 },
    };
    expect((await proxyPost(item, order)).outcome).toBe('200');
    await party.call('/then');
    await jobsDone(vault, item.account);
    expect(receiver.events()).toEqual([]);
  });

  test('count for nothing beside the addresses that the operator allows', async () => {
    const other = await vault.secondServer({ proxy: { ...(await localProxy()), allow: ['127.0.0.2/32'] } });
    const item = await newItem(other);
    const before = party.connections();
    for (const url of [party.url('/'), named('localhost')]) {
      const answer = await proxyPost(item, { request: requestTo(url), synchronous: true });
      expect(answer.outcome).toBe('400 destination_refused');
    }
    expect(party.connections()).toBe(before);
    await other.close();
  });
});
