/** What a relayed request may use, and what its caller sees of it. */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Scope } from '../../server/core/scopes.ts';
import type { AccountClient } from '../helpers/clients.ts';
import { credentialClient, type WantedCredential } from '../helpers/credentials.ts';
import { anotherItem, CARD, newItem } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect, placeholder, relay } from '../helpers/relay.ts';

const setting = await openProxySetting({ sadAfterProxy: true });
const { vault, party, freshPath } = setting;
let { item } = setting;
const psp = await connect(item.account, party, { headers: [{ 'X-Key': 'sk_canary' }] });
// A payment that went through takes the code of its card.
beforeEach(async () => {
  item = await anotherItem(item, CARD);
});

async function using(scopes: readonly Scope[], wanted: WantedCredential = {}): Promise<AccountClient> {
  return credentialClient(vault.handle, item.account, scopes, wanted);
}

function charge(): string {
  const { token } = item;
  return `{"pan":"${placeholder(token, 'card_number')}","cvc":"${placeholder(token, 'cvv')}","name":"${placeholder(token, 'card_holder')}"}`;
}

describe('a credential that may use and not see', () => {
  test('sends the values, and sees the status of the reply alone', async () => {
    const path = freshPath((request) => ({
      status: 402,
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Echo', request.text],
        ['Retry-After', 'soon'],
      ],
      body: request.text,
    }));
    const sender = await using(['proxy:send']);
    for (const method of ['POST', 'PUT']) {
      const answer = await relay(sender, psp, path, { method, body: charge() });
      expect([answer.status, answer.text]).toEqual([402, '']);
      expect(answer.headers.get('x-vault-withheld')).toBe('true');
      expect(['x-echo', 'retry-after', 'content-type'].map((name) => answer.headers.get(name))).toEqual([
        null,
        null,
        null,
      ]);
    }
    expect(party.calls(path)[0]?.text).toContain(CARD.card_number);
    // Without a placeholder too: a third party may repeat what another request has sent.
    const later = await relay(sender, psp, path, { method: 'GET' });
    expect([later.status, later.text, later.headers.get('x-vault-withheld')]).toEqual([402, '', 'true']);
  });

  test('is told when to come again, and of HEAD no length', async () => {
    const sender = await using(['proxy:send']);
    for (const time of ['120', 'Wed, 21 Oct 2026 07:28:00 GMT']) {
      const path = freshPath({ status: 429, headers: [['Retry-After', time]], body: 'x' });
      expect((await relay(sender, psp, path, { body: '{}' })).headers.get('retry-after')).toBe(time);
    }
    const path = freshPath({ headers: [['Content-Type', 'application/json']], body: '{"id":1}' });
    const head = await relay(sender, psp, path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length') ?? '0']).toEqual([200, '0']);
  });
});

describe('a credential that sees data masked', () => {
  test('sees a reply with numbers and codes masked, also one to a request that sends none', async () => {
    const path = freshPath((request) => ({
      headers: [
        ['Content-Type', 'application/json'],
        ['X-Echo', request.text],
        ['X-Cvc', CARD.cvv],
      ],
      body: `[${request.text},{"n":4111111111111111,"cvv":123,"at":"2026-11-28T10:00:00Z"}]`,
    }));
    const reader = await using(['proxy:send', 'vault:read']);
    const answer = await relay(reader, psp, path, { body: charge() });
    const pan = '************1111';
    expect(JSON.parse(answer.text)).toEqual([
      { pan, cvc: '********', name: CARD.card_holder },
      { n: pan, cvv: '********', at: '2026-11-28T10:00:00Z' },
    ]);
    expect(answer.headers.get('x-cvc')).toBe('********');
    const shown = answer.text + JSON.stringify([...answer.headers]);
    for (const secret of [CARD.card_number, CARD.cvv]) {
      expect(shown).not.toContain(secret);
    }
    const later = await relay(reader, psp, path, { body: 'null' });
    expect(JSON.parse(later.text)[1].n).toBe(pan);
  });

  test('sees nothing of a reply that cannot be searched', async () => {
    const reader = await using(['proxy:send', 'vault:read']);
    const encoded = freshPath({ headers: [['Content-Encoding', 'zstd']], body: 'not readable' });
    const answer = await relay(reader, psp, encoded, { body: charge() });
    expect([answer.text, answer.headers.get('content-encoding')]).toEqual(['********', null]);
    const part = freshPath({ status: 206, body: '1111' });
    const body = `"${placeholder(item.token, 'card_number')}"`;
    expect((await relay(reader, psp, part, { body })).text).toBe('********');
  });
});

describe('a credential', () => {
  test('needs the scope, the key and the host', async () => {
    const path = freshPath();
    for (const [scopes, wanted] of [
      [['vault:read'], {}],
      [['proxy:send'], { keys: ['other'] }],
      [['proxy:send'], { hosts: ['pay.example.com'] }],
    ] as const) {
      const answer = await relay(await using(scopes, wanted), psp, path, { body: '{}' });
      expect([answer.outcome, answer.field]).toEqual(['403 not_allowed', 'scope']);
    }
    expect(party.calls(path)).toEqual([]);
    const fitting = await using(['proxy:send'], { keys: ['u'], hosts: ['127.0.0.1'] });
    expect((await relay(fitting, psp, path, { body: '{}' })).outcome).toBe('200');
  });

  test('of another account has neither connection nor key', async () => {
    const other = await newItem(vault);
    expect((await relay(other.account, psp, freshPath(), { body: '{}' })).outcome).toBe(
      '404 connection_not_found',
    );
    const own = await connect(other.account, party);
    const answer = await relay(other.account, own, freshPath(), { body: charge() });
    expect(answer.outcome).toBe('400 placeholder_unknown');
  });
});

describe('the code of a card', () => {
  test('is gone once a payment went through, and stays otherwise', async () => {
    const { token, account } = await newItem(vault);
    const own = await connect(account, party);
    const body = `{"cvc":"${placeholder(token, 'cvv')}"}`;
    expect((await relay(account, own, freshPath({ status: 402, body: '{}' }), { body })).status).toBe(402);
    expect((await relay(account, own, freshPath({ status: 201, body: '{}' }), { body })).status).toBe(201);
    expect((await relay(account, own, freshPath(), { body })).outcome).toBe('400 placeholder_unknown');
  });
});

describe('a reply without placeholders in its request', () => {
  test('comes through as it is sent, piece by piece', async () => {
    const path = freshPath({ headers: [['Content-Encoding', 'x-own']], body: 'as it is' });
    const open = await connect(item.account, party);
    const answer = await relay(item.account, open, path, {
      method: 'GET',
      headers: { 'accept-encoding': 'x-own' },
    });
    expect([answer.text, answer.headers.get('content-encoding')]).toEqual(['as it is', 'x-own']);
    expect(party.calls(path)[0]?.header('accept-encoding')).toBe('x-own');
  });

  test('that breaks off ends the reply of the vault', async () => {
    const path = freshPath({ body: 'half', unfinished: 'cut' });
    await expect(relay(item.account, psp, path, { method: 'GET' })).rejects.toThrow();
  });
});

test('nothing that is secret is in a log or an event', () => {
  expect(vault.events.filter(({ event }) => event === 'proxy_attempt')).not.toEqual([]);
  const logged = JSON.stringify([vault.lines, vault.events]);
  for (const secret of [CARD.card_number, 'sk_canary', CARD.card_holder]) {
    expect(logged).not.toContain(secret);
  }
});
