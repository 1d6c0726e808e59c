/** Who may make an inbound, of what, and how it ends. */
import { describe, expect, test } from 'bun:test';
import type { Scope } from '../../server/core/scopes.ts';
import { type AccountClient, type Answer, PASSPHRASE } from '../helpers/clients.ts';
import { credentialClient, type WantedCredential } from '../helpers/credentials.ts';
import { createCapture } from '../helpers/endpoints.ts';
import {
  connectInbound,
  createInbound,
  type MadeInbound,
  newInbound,
  sendThrough,
} from '../helpers/inbound.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect } from '../helpers/relay.ts';

const START = Date.parse('2026-03-01T12:00:00Z');
const DAY = 86_400_000;
let clock = START;
const setting = await openProxySetting({ now: () => clock });
const { vault, party, item, freshPath } = setting;
const { account } = item;
const shop = await connectInbound(account, party);
const NUMBER = '4111111111111111';
const CARD = `{"card":{"number":"${NUMBER}","cvc":"123"}}`;

const place = ({ outcome, field }: Answer): string => `${outcome} ${field}`;
const refused = async (settings: object, client = account): Promise<string> =>
  place(await createInbound(client, { connection: shop, ...settings }));
const using = (scopes: readonly Scope[], wanted: WantedCredential = {}): Promise<AccountClient> =>
  credentialClient(vault.handle, account, scopes, wanted);
const send = (inbound: MadeInbound, path = freshPath()): Promise<Answer> =>
  sendThrough(vault.handle, inbound, path, { body: CARD });

describe('a new inbound', () => {
  test('is shown with its secret once, read, listed and deleted', async () => {
    const settings = {
      id: 'orders',
      connection: shop,
      extract: [{ number: 'a[*].n', code: 'a[*].c', include: { name: 'a[*].h' }, reference: 'a[*].id' }],
      allow: ['order.code'],
      algorithm: 'partial_8_start',
      ttl: 'P90D',
      metadata: { channel: 'market' },
      strict: 'mask',
      rate: '100/m',
      ips: ['127.0.0.1', '2001:db8::/32'],
    };
    const made = await createInbound(account, { ...settings, expires_in: 'P10D' });
    expect(made.json).toEqual({
      id: 'orders',
      url: '/v1/inbound/orders',
      secret: expect.stringMatching(/^vcs1_[\w-]{43}$/),
      expires_at: '2026-03-11T12:00:00Z',
    });
    const read = await account.send('GET', '/inbound/orders');
    expect(read.json).toEqual({
      ...settings,
      ...{ user: 'u', url: '/v1/inbound/orders', ips: ['127.0.0.1/32', '2001:db8::/32'] },
      ...{ expires_at: '2026-03-11T12:00:00Z', expired: false },
    });
    const few = await newInbound(account, { id: 'few', connection: shop, extract: 'cards' });
    expect(few.expires_at).toBeNull();
    const listed = await account.send('GET', '/inbound/');
    expect(listed.json).toEqual([
      {
        ...{ id: 'few', url: '/v1/inbound/few', user: 'u', connection: shop, extract: 'cards' },
        ...{ strict: true, algorithm: 'full', expires_at: null, expired: false },
      },
      read.json,
    ]);
    expect(listed.text).not.toContain('vcs1_');
    expect((await account.send('DELETE', '/inbound/few/')).outcome).toBe('200');
    expect((await account.send('GET', '/inbound/few')).outcome).toBe('404 endpoint_not_found');
    expect((await account.send('DELETE', '/inbound/few')).outcome).toBe('404 endpoint_not_found');
    expect((await send(few)).outcome).toBe('403 endpoint_refused');
  });

  test('is no capture endpoint, and a capture endpoint is none', async () => {
    const inbound = await newInbound(account, { connection: shop });
    const capture = await createCapture(account, 'u', {});
    expect((await account.send('GET', `/inbound/${capture.unique_id}`)).outcome).toBe(
      '404 endpoint_not_found',
    );
    expect((await account.send('DELETE', `/inbound/${capture.unique_id}`)).outcome).toBe(
      '404 endpoint_not_found',
    );
    const asCapture = await account.send('POST', `/capture/${inbound.id}`, {
      headers: { authorization: '', 'x-vault-capture-secret': inbound.secret },
      body: { card_number: NUMBER },
    });
    expect(asCapture.outcome).toBe('403 endpoint_refused');
    const asInbound = { id: capture.unique_id, url: `/v1/inbound/${capture.unique_id}` };
    expect((await send({ ...inbound, ...asInbound, secret: capture.secret })).outcome).toBe(
      '403 endpoint_refused',
    );
  });

  test.each([
    [{ extract: [] }, 'body.extract'],
    [{ extract: [{ number: 'a..b' }] }, 'body.extract[0].number'],
    [{ extract: [{ number: '$.card.number' }] }, 'body.extract[0].number'],
    [{ extract: [{ number: '$[*].number' }] }, 'body.extract[0].number'],
    [{ extract: [{ number: '/card/number' }] }, 'body.extract[0].number'],
    [{ extract: [{ number: 'a', include: ['x.same', 'y.same'] }] }, 'body.extract[0].include'],
    [{ extract: [{ number: 'a', include: { cvv: 'b' } }] }, 'body.extract[0].include'],
    [{ extract: [{ number: 'a', include: ['card.cvc'] }] }, 'body.extract[0].include'],
    [{ extract: [{ number: 'a', reference: 'card.cvc' }] }, 'body.extract[0].reference'],
    [{ extract: 'all' }, 'body.extract'],
    [{ allow: ['['] }, 'body.allow[0]'],
    [{ algorithm: 'uuid' }, 'body.algorithm'],
    [{ ttl: 'soon' }, 'body.ttl'],
    [{ expires_in: '-1d' }, 'body.expires_in'],
    [{ metadata: { 'a b': 'x' } }, 'body.metadata'],
    [{ metadata: { a: 7 } }, 'body.metadata.a'],
    [{ strict: 'yes' }, 'body.strict'],
    [{ rate: '0/m' }, 'body.rate'],
    [{ ips: ['127.0.0.1', 'here'] }, 'body.ips[1]'],
    [{ secret: 'vcs1_short' }, 'body.secret'],
    [{ secret: `vcs1_${'a'.repeat(43)}` }, 'body.secret'],
    [{ user: '' }, 'body.user'],
    [{ connection: '' }, 'body.connection'],
    [{ bogus: 1 }, 'body.bogus'],
  ])('is refused with %j', async (settings, field) => {
    const answer = await createInbound(account, { id: 'refused', connection: shop, ...settings });
    expect(answer.status).toBe(400);
    expect(answer.field).toStartWith(field);
    expect((await account.send('GET', '/inbound/refused')).outcome).toBe('404 endpoint_not_found');
  });

  test('is refused for a card in its metadata, an unknown key and an unknown connection', async () => {
    expect(await refused({ metadata: { a: NUMBER } })).toBe('400 metadata_sensitive body.metadata.a');
    expect(await refused({ user: 'nobody' })).toBe('404 key_not_found body.user');
    expect(await refused({ connection: 'none' })).toBe('404 connection_not_found body.connection');
    const wrong = await createInbound(account, { connection: shop }, 'a wrong passphrase');
    expect(wrong.outcome).toBe('403 passphrase_wrong');
  });

  test('has tokens of the preference, but never random ones', async () => {
    const other = await vault.account();
    await other.key('u');
    const psp = await connectInbound(other, party);
    for (const [preferred, algorithm] of [
      ['luhn', 'luhn'],
      ['uuid', 'full'],
    ]) {
      await other.send('POST', '/preferences', { body: { key: 'default_algorithm', value: preferred } });
      const { id } = await newInbound(other, { connection: psp });
      expect((await other.send('GET', `/inbound/${id}`)).json).toMatchObject({ algorithm });
    }
  });
});

describe('the rights of its maker', () => {
  const SCOPES = ['capture:write', 'proxy:send'] as const;

  test('are both scopes, the key, the host, and a connection that takes inbounds', async () => {
    expect(await refused({}, await using(SCOPES))).toBe('200 undefined');
    expect(await refused({}, await using(['capture:write']))).toBe('403 not_allowed scope');
    expect(await refused({}, await using(['proxy:send']))).toBe('403 not_allowed scope');
    expect(await refused({}, await using(SCOPES, { keys: ['v'] }))).toBe('403 not_allowed scope');
    expect(await refused({}, await using(SCOPES, { hosts: ['api.example'] }))).toBe('403 not_allowed scope');
    expect(await refused({}, await using(SCOPES, { hosts: ['127.0.0.1'] }))).toBe('200 undefined');
    const closed = await connect(account, party);
    expect(await refused({ connection: closed })).toBe('403 not_allowed body.connection');
  });

  test('for tokens that keep digits are those of a reader', async () => {
    const algorithm = 'partial_8_end';
    expect(await refused({ algorithm }, await using(SCOPES))).toBe('403 not_allowed body.algorithm');
    const reader = await using([...SCOPES, 'vault:read'], { unmasked: true });
    expect(await refused({ algorithm }, reader)).toBe('200 undefined');
  });

  test('to list and delete are the scope of captures alone, of its keys', async () => {
    const { id } = await newInbound(account, { connection: shop });
    const other = await using(['capture:write'], { keys: ['v'] });
    expect((await other.send('GET', '/inbound')).json).toEqual([]);
    expect((await other.send('GET', `/inbound/${id}`)).outcome).toBe('403 not_allowed');
    expect((await other.send('DELETE', `/inbound/${id}`)).outcome).toBe('403 not_allowed');
    const sender = await using(['proxy:send']);
    expect((await sender.send('GET', '/inbound')).outcome).toBe('403 not_allowed');
    const writer = await using(['capture:write']);
    expect((await writer.send('GET', `/inbound/${id}`)).json).toMatchObject({ id });
    expect((await writer.send('DELETE', `/inbound/${id}`)).outcome).toBe('200');
  });

  test('to let a connection take inbounds are those of a reader', async () => {
    const writer = await using(['connection:write', 'connection:read']);
    const base_url = party.url('');
    const settings = { base_url, inbound: true };
    const answer = await writer.send('POST', '/connection', { body: { id: 'mine', ...settings } });
    expect(place(answer)).toBe('403 not_allowed body.inbound');
    const open = await connectInbound(account, party);
    const put = (body: object) => writer.send('PUT', `/connection/${open}`, { body });
    for (const body of [{ base_url }, settings]) {
      expect((await put(body)).json).toMatchObject({ inbound: true });
    }
    expect(place(await put({ base_url, inbound: false }))).toBe('403 not_allowed body.inbound');
    const cleared = await account.send('PUT', `/connection/${open}`, { body: { base_url } });
    expect(cleared.json).not.toHaveProperty('inbound');
    expect(place(await put(settings))).toBe('403 not_allowed body.inbound');
  });
});

describe('a taken id', () => {
  test('is refused without its secret, with another one, and for another kind or account', async () => {
    const { id } = await newInbound(account, { connection: shop });
    const { secret } = await newInbound(account, { connection: shop });
    expect(await refused({ id })).toBe('409 endpoint_exists body.id');
    expect(await refused({ id, secret })).toBe('409 endpoint_exists body.id');
    const capture = await createCapture(account, 'u', {});
    const ofCapture = { id: capture.unique_id, secret: capture.secret };
    expect(await refused(ofCapture)).toBe('409 endpoint_exists body.id');
    const other = await vault.account();
    await other.key('u');
    const theirs = await newInbound(other, { connection: await connectInbound(other, party) });
    const { id: taken, secret: known } = theirs;
    expect(await refused({ id: taken, secret: known })).toBe('409 endpoint_exists body.id');
    expect((await send(theirs)).status).toBe(200);
  });

  test('with its secret changes the settings, and its senders go on', async () => {
    const before = await newInbound(account, { connection: shop, extract: [{ number: 'x' }] });
    const { id, secret } = before;
    const made = await newInbound(account, { id, secret, connection: shop, expires_in: 'P30D' });
    expect(made).toMatchObject({ id, secret });
    expect((await send(before)).headers.get('x-vault-stored')).toBe('1');
    const all = (await account.send('GET', '/inbound')).as<{ id: string; extract: unknown }[]>();
    expect(all.filter((one) => one.id === id).map(({ extract }) => extract)).toEqual([
      [{ number: 'card.number', code: 'card.cvc' }],
    ]);
    expect((await account.send('DELETE', `/inbound/${id}`)).outcome).toBe('200');
    expect((await send(before)).outcome).toBe('403 endpoint_refused');
  });

  test('is made by one of several requests at the same time', async () => {
    const made = await Promise.all(
      [1, 2, 3].map(() => createInbound(account, { id: 'race', connection: shop })),
    );
    expect(made.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });
});

describe('an inbound ends', () => {
  test('at its time, and is gone a day later', async () => {
    const inbound = await newInbound(account, { connection: shop, expires_in: '1h' });
    clock += 3_600_000;
    expect((await send(inbound)).outcome).toBe('410 endpoint_gone');
    expect((await send({ ...inbound, secret: 'wrong' })).outcome).toBe('403 endpoint_refused');
    expect((await account.send('GET', `/inbound/${inbound.id}`)).json).toMatchObject({ expired: true });
    clock += DAY;
    await vault.opened.services.endpoints.sweep(account.aid);
    expect((await account.send('GET', `/inbound/${inbound.id}`)).outcome).toBe('404 endpoint_not_found');
  });

  test('with a change of the passphrase, and comes again with its id and secret', async () => {
    const other = await vault.account();
    await other.key('u');
    const psp = await connectInbound(other, party);
    const inbound = await newInbound(other, { connection: psp });
    const { id, secret } = inbound;
    const first = await send(inbound);
    expect(first.status).toBe(200);
    const next = 'the next passphrase';
    await other.send('PUT', '/key', { body: { user: 'u', passphrase: PASSPHRASE, new_passphrase: next } });
    expect((await send(inbound)).outcome).toBe('410 endpoint_gone');
    const again = await createInbound(other, { id, secret, connection: psp }, next);
    expect(again.json).toMatchObject({ id, secret });
    expect((await send(inbound)).status).toBe(200);
    // Also when it is gone.
    await other.send('PUT', '/key', { body: { user: 'u', passphrase: next, new_passphrase: PASSPHRASE } });
    expect((await other.send('DELETE', `/inbound/${id}`)).status).toBe(200);
    expect((await send(inbound)).outcome).toBe('403 endpoint_refused');
    expect((await createInbound(other, { id, secret, connection: psp })).json).toMatchObject({ id, secret });
    expect((await send(inbound)).status).toBe(200);
    expect((await other.send('DELETE', '/key', { query: { user: 'u', safe: false } })).status).toBe(200);
    expect((await send(inbound)).outcome).toBe('403 endpoint_refused');
  });

  test('is listed before, if it was made for long', async () => {
    const { id } = await newInbound(account, { connection: shop, expires_in: 'P8D' });
    const listed = await account.send('GET', '/expiring');
    expect(listed.json).toContainEqual({
      ...{ kind: 'inbound', id, user: 'u' },
      expires_at: `${new Date(clock + 8 * DAY).toISOString().slice(0, 19)}Z`,
    });
  });
});
