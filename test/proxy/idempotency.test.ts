import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { canariesIn, dumpRedis } from '../helpers/canaries.ts';
import { type Answer, PASSPHRASE, type Query, type Sending } from '../helpers/clients.ts';
import { failNext } from '../helpers/hold.ts';
import {
  acceptedId,
  attemptsBilled,
  CARD,
  jobsDone,
  networkToken,
  newItem,
  type OrderChanges,
  proxyGet,
  proxyPost,
  requestTo,
  sourcesOf,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { type Act, createActGate } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

const SECRET_REPLY = 'reply-canary-of-the-third-party';

const { vault, party, item, newParty, freshPath, orderTo } = await openProxySetting({ alone: true });

let keys = 0;
function freshKey(): string {
  keys += 1;
  return `request ${keys}`;
}
function isReplay({ headers }: Answer): boolean {
  return headers.get('idempotency-replayed') === 'true';
}

interface Repeated {
  readonly path: string;
  readonly send: (query?: Query, sending?: Sending) => Promise<Answer>;
}
/** The same synchronous request under one key, as often as it is called. */
function repeated(acts: Act[], changes: OrderChanges = {}, of = item): Repeated {
  const [path, idempotencyKey] = [freshPath(...acts), freshKey()];
  return {
    path,
    send: (query = {}, sending = {}) =>
      proxyPost(of, orderTo(path, changes), { attempts: 1, ...query }, { idempotencyKey, ...sending }),
  };
}

describe('repeating a synchronous request', () => {
  test('gives the first reply again, and sends, bills and logs nothing', async () => {
    const own = await newItem(vault);
    const { path, send } = repeated([{ status: 402, body: SECRET_REPLY }], {}, own);
    const first = await send();
    expect([first.json, isReplay(first)]).toMatchObject([{ status_code: 402, body: SECRET_REPLY }, false]);
    for (let n = 0; n < 3; n++) {
      const again = await send();
      expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    }
    expect(party.calls(path)).toHaveLength(1);
    expect(await attemptsBilled(vault, own.account)).toBe(1);
    expect((await sourcesOf(own)).filter((source) => source === 'decrypt proxy')).toHaveLength(1);
  });

  test('needs the passphrase, and is kept where nothing but the passphrase opens it', async () => {
    const { send } = repeated([{ body: SECRET_REPLY }]);
    await send();
    expect((await send({}, { passphrase: 'not the passphrase' })).outcome).toBe('403 passphrase_wrong');
    expect(canariesIn({ reply: SECRET_REPLY, number: CARD.card_number }, await dumpRedis(vault.raw))).toEqual(
      [],
    );
  });

  test('works under the passphrase of its time', async () => {
    const own = await newItem(vault);
    const { path, send } = repeated([{ body: SECRET_REPLY }], {}, own);
    const first = await send();
    const change = { user: 'u', passphrase: PASSPHRASE, new_passphrase: 'the new passphrase of it' };
    await own.account.send('PUT', '/key', { body: change });
    expect((await send()).outcome).toBe('403 passphrase_wrong');
    const again = await send({}, { passphrase: change.new_passphrase });
    expect([again.text, isReplay(again), party.calls(path).length]).toEqual([first.text, true, 1]);
  });

  test('of anything else under the same key is a conflict', async () => {
    const { path, send } = repeated([200]);
    const first = await send();
    for (const query of [{ attempts: 2 }, { debug: true }, { rules: 'x' }]) {
      expect((await send(query)).outcome).toBe('409 idempotency_conflict');
    }
    expect((await send({}, { body: orderTo('/x') })).outcome).toBe('409 idempotency_conflict');
    expect((await send()).text).toBe(first.text);
    expect(party.calls(path)).toHaveLength(1);
  });

  test('while the first is in flight is a conflict; many at once are sent once', async () => {
    const gate = createActGate();
    const { path, send } = repeated([gate.act({ body: 'once' })]);
    const first = send();
    await party.call(path);
    const early = await Promise.all(Array.from({ length: 8 }, () => send()));
    expect(new Set(early.map(({ outcome }) => outcome))).toEqual(new Set(['409 idempotency_conflict']));
    gate.open();
    const { text } = await first;
    expect((await send()).text).toBe(text);
    expect(party.calls(path)).toHaveLength(1);
  });
});

describe('a request whose reply was lost', () => {
  test('is not sent again: what became of it is unknown, and the repeat is told so', async () => {
    const { path, send } = repeated([{ body: 'charged' }]);
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await send()).outcome).toBe('503 store_unavailable');
    for (let n = 0; n < 2; n++) {
      expect((await send()).outcome).toBe('502 outcome_unknown');
    }
    expect(party.calls(path)).toHaveLength(1);
  });

  test('by a third party that broke off is not sent again either', async () => {
    const { path, send } = repeated(['reset', 200]);
    expect((await send()).outcome).toBe('502 outcome_unknown');
    expect((await send()).outcome).toBe('502 outcome_unknown');
    expect(party.calls(path)).toHaveLength(1);
  });

  test('is sent again where that does no harm', async () => {
    const { path, send } = repeated([{ body: 'put' }], { method: 'PUT' });
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await send()).outcome).toBe('503 store_unavailable');
    const again = await send();
    expect(again.json).toMatchObject({ status_code: 200, body: 'put' });
    expect(party.calls(path)).toHaveLength(2);
    expect([(await send()).text, party.calls(path).length]).toEqual([again.text, 2]);
  });

  test('before anything was sent may be made again', async () => {
    const [own, key] = [await newParty(), freshKey()];
    own.script('/x', { body: 'in the end' });
    own.refuse(1);
    const order = { request: requestTo(own.url('/x')), synchronous: true };
    const send = () => proxyPost(item, order, { attempts: 1 }, { idempotencyKey: key });
    expect((await send()).outcome).toBe('502 target_unreachable');
    expect((await send()).json).toMatchObject({ body: 'in the end' });
    expect([isReplay(await send()), own.calls('/x').length]).toEqual([true, 1]);
  });

  test('stays unknown when the repeat reaches nobody, and is then sent as it was or not at all', async () => {
    const [own, stored, key] = [await newParty(), await newItem(vault), freshKey()];
    own.script('/x', 'reset', { body: 'in the end' });
    const changes = { headers: [{ 'Idempotency-Key': 'order' }], body: '{{expiry_year}}' };
    const order = { request: requestTo(own.url('/x'), changes), synchronous: true };
    const send = () => proxyPost(stored, order, { attempts: 1 }, { idempotencyKey: key });
    expect((await send()).outcome).toBe('502 outcome_unknown');
    own.refuse(1);
    expect((await send()).outcome).toBe('502 outcome_unknown');
    const { account, token } = stored;
    const change = async (expiry_year: string) => {
      const sending = { query: { user: 'u', token }, passphrase: PASSPHRASE, body: { expiry_year } };
      expect((await account.send('POST', '/vault/update', sending)).status).toBe(200);
    };
    await change('2032');
    expect((await send()).outcome).toBe('502 outcome_unknown');
    expect(own.calls('/x').map(({ text }) => text)).toEqual([JSON.stringify(CARD.expiry_year)]);
    await change(CARD.expiry_year);
    expect((await send()).json).toMatchObject({ body: 'in the end' });
  });

  test('and that was refused is not remembered', async () => {
    const { path, send } = repeated([200]);
    expect((await send({ attempts: 17 })).outcome).toBe('400 invalid_request');
    expect((await send({ rules: 'missing' })).outcome).toBe('404 rule_not_found');
    const better = await send();
    expect([better.outcome, isReplay(better), party.calls(path).length]).toEqual(['200', false, 1]);
  });
});

describe('repeating an asynchronous request', () => {
  test('gives the first id again; it is sent, and its webhook told, once', async () => {
    const [path, receiver, idempotencyKey] = [freshPath(200), createReceiver(party), freshKey()];
    const order = { request: requestTo(party.url(path)), webhook: receiver.webhook };
    const send = () => proxyPost(item, order, {}, { idempotencyKey });
    const first = await send();
    const early = await send();
    expect([early.text, isReplay(early)]).toEqual([first.text, true]);
    expect((await receiver.next()).id).toBe(acceptedId(first));
    await jobsDone(vault, item.account);
    expect((await send()).text).toBe(first.text);
    expect(await jobsDone(vault, item.account)).toBeUndefined();
    expect([party.calls(path).length, receiver.events().length]).toEqual([1, 1]);
  });

  test.each([
    ['still waits', false],
    ['was sent and told', true],
  ])('whose acceptance was lost is accepted once, also when it %s', async (_, isDone) => {
    const [path, receiver, idempotencyKey] = [freshPath(200), createReceiver(party), freshKey()];
    const order = { request: requestTo(party.url(path)), webhook: receiver.webhook };
    const send = () => proxyPost(item, order, {}, { idempotencyKey });
    failNext(vault.opened.stores.idempotencyStore, 'keep', new VaultError('store_unavailable'));
    expect((await send()).outcome).toBe('503 store_unavailable');
    if (isDone) {
      await party.call(path);
      await jobsDone(vault, item.account);
    }
    const again = await send();
    expect((await receiver.next()).id).toBe(acceptedId(again));
    await jobsDone(vault, item.account);
    expect([party.calls(path).length, receiver.events().length]).toEqual([1, 1]);
  });
});

describe('the other kinds', () => {
  test('a fetch is repeated without being made again', async () => {
    const [path, idempotencyKey] = [freshPath({ body: '{"number":"5555555555554444"}' }), freshKey()];
    const order = orderTo(path, { method: 'GET', body: undefined });
    const send = (query: Query = {}) =>
      proxyGet(item.account, order, { algorithm: 'uuid', ...query }, { idempotencyKey });
    const first = await send();
    expect(first.outcome).toBe('200');
    const again = await send();
    expect([again.text, isReplay(again), party.calls(path).length]).toEqual([first.text, true, 1]);
    expect((await send({ algorithm: 'luhn' })).outcome).toBe('409 idempotency_conflict');
  });

  test('a network token is asked for once', async () => {
    const [receiver, idempotencyKey] = [createReceiver(party), freshKey()];
    const send = () => networkToken(item, receiver.webhook, { requester_id: 'sim' }, { idempotencyKey });
    const first = await send();
    const again = await send();
    expect([again.text, isReplay(again)]).toEqual([first.text, true]);
    await receiver.next();
    await jobsDone(vault, item.account);
    expect(receiver.events()).toHaveLength(1);
    expect(await vault.usage(item.account)).toMatchObject({ network_token: 1 });
  });
});
