/** Proxied calls when a part of the vault fails for a moment, or attempts end in different ways. */
import { describe, expect, test } from 'bun:test';
import { VaultError } from '../../server/core/errors.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { failNext } from '../helpers/hold.ts';
import {
  acceptedId,
  attemptsBilled,
  jobsDone,
  jobsOf,
  newItem,
  type OrderChanges,
  proxyGet,
  proxyPost,
  requestTo,
  settled,
  sourcesOf,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act, ThirdParty } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';

function AWAY(): VaultError {
  return new VaultError('store_unavailable');
}
const PAID: Act = { status: 201, body: 'paid' };
/** A reply that a thread makes the caller's reply of. */
const LONG: Act = { status: 201, body: 'paid'.repeat(5_000) };

const { vault, party, item, newParty, freshPath, orderTo } = await openProxySetting({ alone: true });

let keys = 0;
function freshKey(): string {
  keys += 1;
  return `k${keys}`;
}

/** A target of its own, which may be told to take no more connections. */
async function newTarget(...acts: ((target: ThirdParty) => Act)[]): Promise<ThirdParty> {
  const target = await newParty();
  target.script('/t', ...acts.map((act) => () => act(target)));
  return target;
}
async function now(target: ThirdParty, changes: OrderChanges, idempotencyKey?: string) {
  const order = { request: requestTo(target.url('/t'), changes), synchronous: true };
  return proxyPost(item, order, { attempts: 2 }, idempotencyKey === undefined ? {} : { idempotencyKey });
}
async function later(target: ThirdParty, changes: OrderChanges, of = item) {
  const receiver = createReceiver(party);
  const order = { request: requestTo(target.url('/t'), changes), webhook: receiver.webhook };
  const { json } = await settled(proxyPost(of, order, { attempts: 2 }), receiver);
  await jobsDone(vault, of.account);
  expect(receiver.events()).toHaveLength(1);
  return json;
}

describe('a reply that is there is told, though', () => {
  test.each([
    [
      'sealing its report fails',
      () => failNext(vault.opened.crypto, 'sealReport', new VaultError('overloaded')),
    ],
    ['writing its report fails', () => failNext(vault.opened.stores.jobStore, 'startReport', AWAY())],
  ])('%s for a moment', async (_, fail) => {
    const target = await newTarget(() => {
      fail();
      return PAID;
    });
    expect(await later(target, {})).toMatchObject({ status_code: 201, body: 'paid' });
    expect(target.calls('/t')).toHaveLength(1);
  });

  test('making the caller’s reply fails for a moment', async () => {
    const target = await newTarget(() => {
      failNext(vault.opened.crypto, 'reportProxy', new VaultError('overloaded'));
      return LONG;
    });
    expect((await now(target, {})).json).toMatchObject({ status_code: 201, body: LONG.body });
  });

  test('the account’s own share is used up: nobody is told to try again', async () => {
    const target = await newTarget(() => {
      failNext(vault.opened.crypto, 'reportProxy', new VaultError('internal'));
      return LONG;
    });
    const answer = await now(target, {});
    expect([answer.outcome, answer.headers.get('x-vault-request-id')]).toEqual([
      '500 internal',
      target.calls('/t')[0]?.header('x-vault-request-id') ?? '',
    ]);
  });
});

describe('a request that certainly was not sent is not called unknown: its certificate could not be read', () => {
  const changes = { client_cert_id: 'x' };

  test('for a moment, and nobody waits', async () => {
    const target = await newTarget(() => PAID);
    failNext(vault.opened.stores.certificateStore, 'read', AWAY());
    expect(await later(target, changes)).toMatchObject({ status_code: 201 });
    expect(target.calls('/t')).toHaveLength(1);
  });

  test('while its caller waited; the repeat sends it', async () => {
    const [target, key] = [await newTarget(() => PAID), freshKey()];
    failNext(vault.opened.stores.certificateStore, 'read', AWAY());
    const first = await now(target, changes, key);
    expect([first.outcome, first.headers.get('x-vault-request-id')]).toEqual(['503 store_unavailable', null]);
    expect((await now(target, changes, key)).json).toMatchObject({ status_code: 201 });
    expect(target.calls('/t')).toHaveLength(1);
  });
});

describe('when attempts run out', () => {
  const closing = (act: Act) => (target: ThirdParty) => {
    target.refuse(100);
    return act;
  };

  test.each<[string, Act, OrderChanges, object, string]>([
    [
      'a reply, then no connection: the reply',
      { status: 503, headers: [['Connection', 'close']] },
      {},
      { status_code: 503 },
      '200',
    ],
    [
      'broken off, then no connection: unknown',
      'reset',
      { method: 'PUT' },
      { code: 'outcome_unknown' },
      '502 outcome_unknown',
    ],
  ])('%s', async (_, act, changes, told, outcome) => {
    const [one, other] = [await newTarget(closing(act)), await newTarget(closing(act))];
    expect(await later(one, changes)).toMatchObject(told);
    const answer = await now(other, changes);
    expect([answer.outcome, one.calls('/t').length, other.calls('/t').length]).toEqual([outcome, 1, 1]);
  });

  test('the refusal of a request that was sent names its id', async () => {
    const target = await newTarget(() => 'reset');
    const answer = await now(target, {});
    const id = target.calls('/t')[0]?.header('x-vault-request-id');
    expect([answer.outcome, answer.headers.get('x-vault-request-id')]).toEqual([
      '502 outcome_unknown',
      id ?? '',
    ]);
    const noted = vault.events.filter(
      ({ event, ...fields }) => event === 'proxy_attempt' && fields['job'] === id,
    );
    expect(noted).toMatchObject([{ attempt: 1, code: 'outcome_unknown', reason: 'broken_off' }]);
  });
});

describe('what an item holds decides that its request is refused', () => {
  const headers = [{ 'X-A': 'fine' }, { 'X-B': '{{card_holder}}' }];
  const refused = async (unmasked: boolean) => {
    const own = await newItem(vault, { card_number: '4111111111111111', card_holder: 'Ł' }, { unmasked });
    const before = (await sourcesOf(own)).length;
    const { outcome, field } = await proxyPost(own, orderTo('/never', { headers }));
    expect((await sourcesOf(own)).slice(0, -before)).toEqual([expect.stringMatching(/^decrypt proxy \w+$/)]);
    expect(await attemptsBilled(vault, own.account)).toBe(0);
    return [outcome, field];
  };

  test('the place is told to an account that sees it anyway, and not to one that sees masks', async () => {
    expect(await refused(true)).toEqual(['400 invalid_request', 'body.request.headers[1]']);
    expect(await refused(false)).toEqual(['400 invalid_request', undefined]);
  });
});

test.each([
  ['..', '/a/{{value}}/b'],
  ['../../admin', '/a/{{value}}'],
])('the value %s never climbs out of its place in the path %s', async (value, path) => {
  const own = await newItem(vault, { number: '4111111111111111', value });
  const { outcome, field } = await proxyPost(own, orderTo(path));
  expect([outcome, field]).toEqual(['400 invalid_request', 'body.request.url']);
});

test('a fetch whose key was changed between two attempts is not made again', async () => {
  const owner = await vault.account();
  await owner.key('u');
  const receiver = createReceiver(party);
  const path = freshPath(async () => {
    const change = { user: 'u', passphrase: PASSPHRASE, new_passphrase: 'another passphrase by now' };
    await owner.send('PUT', '/key', { body: change });
    return 503;
  });
  const order = { request: { method: 'GET', url: party.url(path) }, webhook: receiver.webhook };
  const { json } = await settled(proxyGet(owner, order), receiver);
  expect([json['code'], party.calls(path).length]).toEqual(['key_changed', 1]);
});

describe('a job', () => {
  test('that has fallen out of the queue is found by the sweep', async () => {
    const receiver = createReceiver(party);
    const path = freshPath(PAID);
    failNext(vault.opened.stores.jobStore, 'read', AWAY());
    const own = await newItem(vault);
    const asleep = await vault.secondServer({ jobs: false });
    const order = { request: requestTo(party.url(path)), webhook: receiver.webhook };
    const answer = await proxyPost(own, order);
    await vault.raw.eval(
      "for _, k in ipairs(redis.call('KEYS', '{jobs}*')) do redis.call('DEL', k) end return 1",
      0,
    );
    await asleep.opened.sweep();
    expect((await receiver.next()).id).toBe(acceptedId(answer));
    await jobsDone(vault, own.account);
  });

  test('whose record was tampered with is noted and set aside, and others go on', async () => {
    const own = await newItem(vault);
    const receiver = createReceiver(party);
    const path = freshPath({ status: 503, headers: [['Retry-After', '1']] }, PAID);
    const order = { request: requestTo(party.url(path)), webhook: receiver.webhook };
    const id = acceptedId(await proxyPost(own, order));
    await party.call(path);
    await vault.raw.hset(`{a:${own.account.aid}}j:${id}`, 'r', 'damaged');
    const isNoted = () =>
      vault.events.some(({ event, ...fields }) => event === 'job_integrity_failed' && fields['job'] === id);
    while (!isNoted()) {
      await Bun.sleep(20);
    }
    expect(await jobsOf(vault, own.account)).toBe(1);
    const target = await newTarget(() => PAID);
    expect(await later(target, {})).toMatchObject({ status_code: 201 });
    expect([party.calls(path).length, receiver.events()]).toEqual([1, []]);
  });
});
