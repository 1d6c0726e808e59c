/** A credential with `proxy:send` alone uses a card and never sees it, whatever it tries: `attempts.ts` has the list. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../../server/boot/routes.ts';
import { PASSPHRASE } from '../../helpers/clients.ts';
import { credentialClient } from '../../helpers/credentials.ts';
import { proxyPost, requestTo } from '../../helpers/proxy.ts';
import { connect, relay } from '../../helpers/relay.ts';
import { type Attempted, attemptAll, attemptMasked, WITHHELD } from './attempts.ts';
import { CARD, openStage, type Stage, seenOf, shownOf } from './stage.ts';

const ATTEMPTS_MS = 120_000;

let stage: Stage;
let attempted: Awaited<ReturnType<typeof attemptAll>>;

beforeAll(async () => {
  stage = await openStage();
  attempted = await attemptAll(stage);
}, ATTEMPTS_MS);
afterAll(() => stage.close());

function revealing(attempts: readonly Attempted[] = []): readonly Attempted[] {
  return attempts.filter(({ shown }) => shown.length > 0);
}

describe('a credential that may use and not see', () => {
  test('is refused on every route that its scope is not for', () => {
    const outcomes = Object.fromEntries(
      attempted['routes']?.map(({ attempt, outcome }) => [attempt, outcome]) ?? [],
    );
    const allowed = ROUTES.filter(({ scope }) => ['proxy:send', 'any', 'none'].includes(String(scope)));
    const refused = ROUTES.filter((route) => !allowed.includes(route));
    expect(refused.length).toBeGreaterThan(40);
    for (const { operationId } of refused) {
      expect([operationId, outcomes[operationId]]).toEqual([operationId, '403 not_allowed']);
    }
    expect(revealing(attempted['routes'])).toEqual([]);
  });

  test('sees of a reply its status alone, whatever was sent and however it comes back', () => {
    expect(attempted['echoes']?.length).toBeGreaterThan(20);
    expect(revealing(attempted['echoes'])).toEqual([]);
    for (const { attempt, outcome } of attempted['echoes'] ?? []) {
      expect([attempt, outcome]).toEqual([attempt, '200']);
    }
  });

  test('uses no rules of its own, and sees no request as it is sent', () => {
    expect(revealing(attempted['rules'])).toEqual([]);
    for (const { attempt, outcome } of attempted['rules'] ?? []) {
      const field = attempt.includes('debug') ? 'query.debug' : 'query.rules';
      expect([attempt, outcome]).toEqual([attempt, `403 not_allowed ${field}`]);
    }
  });

  test('sees nothing at its webhook, in errors, and in replies of others', () => {
    expect(revealing(attempted['webhooks'])).toEqual([]);
    expect(revealing(attempted['more'])).toEqual([]);
  });

  test('has sent the card all the same', () => {
    const sent = stage.party.calls('/echo').map(({ text }) => text);
    expect(sent).toContain(`{"number":"${CARD.card_number}","cvc":"${CARD.cvv}"}`);
    expect(stage.party.calls(`/echo/${CARD.card_number}`).length).toBeGreaterThan(0);
  });

  test('leaves nothing of it in logs, events, metrics and the security log', async () => {
    const { vault, account, token } = stage;
    await vault.opened.services.audit.flush();
    const metrics = await vault.handle(new Request('http://localhost/metrics'));
    const query = { user: 'u', token, limit: 200 };
    const jobReader = await credentialClient(vault.handle, account, ['job:read'], { keys: ['u'] });
    const texts = [
      JSON.stringify(vault.lines),
      JSON.stringify(vault.events),
      // Without the figures, which may be any.
      (await metrics.text()).replaceAll(/ [\d.e+-]+$/gm, ''),
      (await account.send('GET', '/audit', { query: { limit: 200 } })).text,
      (await account.send('GET', '/vault/metadata', { query })).text,
      (await account.send('GET', '/usage')).text,
      (await jobReader.send('GET', '/proxy/job', { query: { limit: 100 } })).text,
    ];
    for (const text of texts) {
      expect(text.length).toBeGreaterThan(20);
      expect(shownOf(text.replaceAll(/"(?:ms|attempt|\w+_ms)":[\d.]+/g, ''))).toEqual([]);
    }
  });
});

describe('the members that a connection names', () => {
  const REPLY = {
    id: 'ch_1',
    status: 'declined',
    error: { code: 'card_declined', message: `no ${CARD.card_number}`, cvv: CARD.cvv },
    items: [{ id: 1, card: CARD.card_number }, { card: CARD.card_number }, { id: null }],
    echo: CARD.card_number,
    total: 1.1,
  };
  const NAMED = '{"id":"ch_1","error":{"code":"card_declined"},"items":[{"id":1},{"id":null}]}';
  const PATHS = ['id', 'error.code', 'items[*].id', 'error', 'items', 'gone.id'];

  test('are all that is shown of a JSON reply, by the proxy and by the relay, to a webhook and again', async () => {
    const { account, user, party, token, receiver } = stage;
    const connection = await connect(account, party, { reply: PATHS });
    party.script('/named', {
      status: 402,
      headers: [
        ['Content-Type', 'application/problem+json; charset=utf-8'],
        ['Retry-After', '30'],
        ['X-Number', CARD.card_number],
      ],
      body: JSON.stringify(REPLY),
    });
    const request = { method: 'POST', url: '/named', connection, body: '{"n":"{{card_number}}"}' };
    const shown = { status_code: 402, headers: [], body: NAMED, withheld: true };
    const sending = { query: { user: 'u', token }, passphrase: PASSPHRASE, idempotencyKey: 'named' };
    for (const replayed of [null, 'true']) {
      const answer = await user.send('POST', '/proxy/post', {
        ...sending,
        body: { request, synchronous: true },
      });
      expect([answer.json, answer.headers.get('idempotency-replayed')]).toEqual([shown, replayed]);
    }
    await proxyPost({ account: user, user: 'u', token }, { request, webhook: receiver.webhook });
    const { received } = await receiver.next();
    expect(JSON.parse(received.text)).toEqual(shown);
    const relayed = await relay(user, connection, '/named', { body: '{}' });
    expect([relayed.status, relayed.text]).toEqual([402, NAMED]);
    const headers = Object.fromEntries(relayed.headers);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'retry-after': '30',
      'x-vault-withheld': 'true',
    });
    expect(headers['x-number']).toBeUndefined();
  });

  test.each<[string, Parameters<typeof stage.party.script>[1]]>([
    ['text that is no JSON', { headers: [['Content-Type', 'text/plain']], body: '{"id":"x"}' }],
    ['JSON without its type', { body: '{"id":"x"}' }],
    ['JSON lines', { headers: [['Content-Type', 'application/x-ndjson']], body: '{"id":"x"}' }],
    ['a text in place of JSON', { headers: [['Content-Type', 'application/json']], body: '{"id":"x"' }],
    [
      'a member that comes twice',
      { headers: [['Content-Type', 'application/json']], body: '{"id":1,"id":2}' },
    ],
    ['a part', { status: 206, headers: [['Content-Type', 'application/json']], body: '"id":"x"}' }],
    [
      'an object at the end of the path',
      { headers: [['Content-Type', 'application/json']], body: '{"id":{"a":1}}' },
    ],
    ['a redirect', { status: 302, headers: [['Location', 'https://a.example/?id=x']], body: '' }],
  ])('are none in %s', async (_about, reply) => {
    const { account, user, party, token } = stage;
    const connection = await connect(account, party, { reply: ['id', '*'] });
    party.script('/none', reply);
    const request = { method: 'POST', url: '/none', connection, body: '{}' };
    const answer = await proxyPost({ account: user, user: 'u', token }, { request, synchronous: true });
    expect(answer.json).toEqual({ status_code: Object(reply).status ?? 200, ...WITHHELD });
    const relayed = await relay(user, connection, '/none', { body: '{}' });
    expect([relayed.text, relayed.headers.get('content-type'), relayed.headers.get('location')]).toEqual([
      '',
      null,
      null,
    ]);
  });

  test('are masked, and show nothing of the connection', async () => {
    const { account, user, party, token } = stage;
    const key = 'sk_live_AbC/+of-the-shop';
    const connection = await connect(account, party, {
      headers: [{ Authorization: `Bearer ${key}` }],
      reply: ['a', 'b', 'cvc', 'd[*]'],
    });
    party.script('/own', {
      headers: [['Content-Type', 'application/json']],
      body: `{"a":"no. ${CARD.card_number}","b":${CARD.card_number},"cvc":"${CARD.cvv}","d":["${key}","${key.replaceAll('/', '\\/').replace('+', '\\u002b')}"]}`,
    });
    const relayed = await relay(user, connection, '/own', {
      body: `{"n":"{{vault:${token}:card_number}}"}`,
    });
    expect(relayed.json).toEqual({
      a: 'no. ************0014',
      b: '************0014',
      cvc: '********',
      d: ['********', '********'],
    });
  });
});

describe('a credential that sees data masked', () => {
  test(
    'sees four digits of a number, and no code under its name, however a reply repeats them',
    async () => {
      const { vault, account } = stage;
      const reader = await credentialClient(vault.handle, account, ['proxy:send', 'vault:read'], {
        ...{ keys: ['u'], hosts: ['127.0.0.1'] },
      });
      const attempts = await attemptMasked(stage, reader);
      expect(attempts.length).toBeGreaterThan(300);
      expect(new Set(attempts.map(({ outcome }) => outcome))).toEqual(new Set(['200']));
      expect(revealing(attempts)).toEqual([]);
    },
    ATTEMPTS_MS,
  );

  test('uses no rules of its own, and sees no request that rules have changed', async () => {
    const { vault, account, party, rules, token } = stage;
    const reader = await credentialClient(vault.handle, account, ['proxy:send', 'vault:read']);
    const connection = await connect(account, party, { rules: [rules[0] ?? ''] });
    const item = { account: reader, user: 'u', token };
    party.script('/echo', ({ text }) => ({ body: text }));
    const own = { request: requestTo(party.url('/echo'), { body: '{"a":"{{made}}"}' }), synchronous: true };
    const through = {
      request: { method: 'POST', url: '/echo', connection, body: '{"a":"{{made}}"}' },
      synchronous: true,
    };
    const refused = [
      await proxyPost(item, own, { rules: rules[0] ?? '' }),
      await proxyPost(item, through, { debug: true }),
    ];
    expect(refused.map(({ outcome, json }) => [outcome, Object(json).field])).toEqual([
      ['403 not_allowed', 'query.rules'],
      ['403 not_allowed', 'query.debug'],
    ]);
    const sent = party.calls('/echo').length;
    expect((await proxyPost(item, through)).outcome).toBe('200');
    expect(party.calls('/echo')[sent]?.text).toBe(`{"a":"${CARD.card_number.slice(0, 12)}"}`);
    const plain = await proxyPost(
      item,
      { ...own, request: requestTo(party.url('/echo'), { body: '{{card_number}}' }) },
      { debug: true },
    );
    expect(plain.as<{ populated_template: { body: string } }>().populated_template.body).toBe(
      '"************0014"',
    );
  });
});

test('with vault:read and unmasked output, replies are shown as they are', async () => {
  const { party, account, token } = stage;
  party.script('/echo', (request) => ({ body: request.text }));
  const order = { request: requestTo(party.url('/echo'), { body: '{{card_number}}' }), synchronous: true };
  const answer = await proxyPost({ account, user: 'u', token }, order);
  expect(shownOf(seenOf(answer))).not.toEqual([]);
});
