import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Answer } from '../../helpers/clients.ts';
import {
  attemptsBilled,
  type Item,
  jobsDone,
  jobsOf,
  networkToken,
  newItem,
  openProxyVault,
  proxyGet,
  proxyPost,
  requester,
  requestTo,
  sourcesOf,
} from '../../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { createReceiver } from '../../helpers/webhook.ts';
import { startListener, stopTargets } from '../../outbound/target.ts';

/** A public address that is never dialled here: the other place is refused first. */
const PUBLIC = 'https://one.one.one.one.example.invalid/';

const SPELLINGS = [
  'https://127.0.0.1:PORT/',
  'https://127.1:PORT/',
  'https://2130706433:PORT/',
  'https://0x7f000001:PORT/',
  'https://0x7f.1:PORT/',
  'https://017700000001:PORT/',
  'https://0177.0.0.1:PORT/',
  'https://127.0.0.1.:PORT/',
  'https://①②⑦.⓪.⓪.①:PORT/',
  'https://0.0.0.0:PORT/',
  'https://0:PORT/',
  'https://localhost:PORT/',
  'https://LOCALHOST.:PORT/',
  'https://sub.localhost:PORT/',
  'https://[::1]:PORT/',
  'https://[::]:PORT/',
  'https://[::ffff:127.0.0.1]:PORT/',
  'https://[::ffff:7f00:1]:PORT/',
  'https://[64:ff9b::7f00:1]:PORT/',
];
const NOT_PUBLIC = [
  'https://10.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://192.0.2.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[fe80::1]/',
  'https://[fd00::1]/',
  'https://[2001:db8::1]/',
  'https://[ff02::1]/',
];
const NO_DESTINATIONS = [
  'http://127.0.0.1:PORT/',
  'http://example.com/',
  'HTTP://example.com/',
  'https://user@127.0.0.1:PORT/',
  'https://user:password@example.com/',
  'https://:@example.com/',
  'https://example.com@127.0.0.1:PORT/',
  'https://',
  'https:///127.0.0.1:PORT/',
  'https:/127.0.0.1:PORT/',
  'https://127.0.0.1:PORT\\@example.com/',
  'https://exa\tmple.com/',
  'https://127.0.0.1:0/',
  'ftp://127.0.0.1:PORT/',
  'file:///etc/passwd',
  'data:text/plain,x',
  '//127.0.0.1:PORT/',
  '127.0.0.1:PORT',
];

/** Listens on this machine in several ways at once, at one port. */
interface Trap {
  readonly port: number;
  readonly connections: () => number;
}

async function setTrap(): Promise<Trap> {
  const first = await startListener((socket) => socket.destroy(), '127.0.0.1');
  const second = await startListener((socket) => socket.destroy(), '::1', first.port);
  return { port: first.port, connections: () => first.connections() + second.connections() };
}

describe('without leave to reach this machine', () => {
  let vault: TestVault;
  let item: Item;
  let trap: Trap;

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

  test.each([...SPELLINGS, ...NOT_PUBLIC])('%s is refused before anything is opened', async (url) => {
    const answers = await Promise.all(attempts(at(url)));
    for (const [index, { outcome, field }] of answers.entries()) {
      // What no URL parser takes for a host is refused as malformed.
      expect(outcome).toMatch(/^400 (?:destination_refused|invalid_request)$/);
      expect(field).toBe(FIELDS[index]);
    }
    if (url.startsWith('https://127.0.0.1:') || url.startsWith('https://localhost:')) {
      expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(['400 destination_refused']));
    }
    await untouched();
  });

  test.each(NO_DESTINATIONS)('%j is no destination', async (url) => {
    const answers = await Promise.all(attempts(at(url)));
    for (const [index, { outcome, field, text }] of answers.entries()) {
      expect(outcome).toMatch(/^400 (?:destination_refused|invalid_request)$/);
      expect(field).toBe(FIELDS[index]);
      expect(text).not.toContain('password@');
    }
    await untouched();
  });

  test('a requester there is not reached either', async () => {
    const answer = await networkToken(item, { url: PUBLIC }, { requester_id: 'local' });
    expect([answer.outcome, answer.field]).toEqual(['400 destination_refused', 'query.requester_id']);
    await untouched();
  });
});

describe('hosts of an account', () => {
  let vault: TestVault;
  let party: ThirdParty;

  beforeAll(async () => {
    party = await startThirdParty();
    party.script('/ok', 200);
    vault = await openProxyVault();
  });
  afterAll(async () => {
    await vault.close();
    party.stop();
  });

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
});

describe('with leave to reach some addresses', () => {
  test('the others are refused as ever', async () => {
    const party = await startThirdParty();
    const vault = await openProxyVault({ proxy: { allow: ['127.0.0.2/32'] } });
    try {
      const item = await newItem(vault);
      for (const url of [party.url('/'), party.url('/').replace('127.0.0.1', 'localhost')]) {
        const answer = await proxyPost(item, { request: requestTo(url), synchronous: true });
        expect(answer.outcome).toBe('400 destination_refused');
      }
      expect(party.connections()).toBe(0);
    } finally {
      await vault.close();
      party.stop();
    }
  });
});
