/** Who decides what a connection shows of replies, and which rules run over all that is sent through it. */
import { describe, expect, test } from 'bun:test';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import { credentialClient } from '../helpers/credentials.ts';
import { CARD, proxyPost, requestTo } from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import { connect } from '../helpers/relay.ts';

const { vault, party, item } = await openProxySetting();
const { account } = item;
const writer = await credentialClient(vault.handle, account, [
  'connection:write',
  'connection:read',
  'rule:write',
]);
const unmasked = await credentialClient(
  vault.handle,
  account,
  ['connection:write', 'vault:read', 'rule:write'],
  {
    unmasked: true,
  },
);
const BASE = { base_url: party.url('') };
const REPLY = ['id', 'items[*].id', '*.code', '["a.b"]'];

async function rule(id: string, template: string, client: AccountClient = account): Promise<Answer> {
  const operation = { name: 'template', output_field: 'made', arguments: { template } };
  return client.send('POST', '/rule', { query: { id }, body: [operation] });
}
function shown(answer: Answer): unknown {
  const { rules, reply } = answer.as<{ rules?: unknown; reply?: unknown }>();
  return answer.status === 200 ? { rules, reply } : [answer.outcome, answer.field];
}

describe('`rules` and `reply` of a connection', () => {
  test('are shown as they were set, and gone where a replacement leaves them out', async () => {
    await rule('a-rule', 'x');
    for (const [id, client] of [
      ['by-account', account],
      ['by-credential', unmasked],
    ] as const) {
      const set = { rules: ['a-rule'], reply: REPLY };
      expect(shown(await client.send('POST', '/connection', { body: { id, ...BASE, ...set } }))).toEqual(set);
      const listed = (await account.send('GET', '/connection')).as<{ id: string; reply: string[] }[]>();
      expect(listed.find((each) => each.id === id)?.reply).toEqual(REPLY);
      expect(shown(await client.send('PUT', `/connection/${id}`, { body: BASE }))).toEqual({
        rules: undefined,
        reply: undefined,
      });
    }
  });

  test.each([
    ['reply', ['']],
    ['reply', ['a..b']],
    ['reply', ['a[']],
    ['reply', ['a[x]']],
    ['reply', ['a'.repeat(256)]],
    ['reply', ['id', 'id']],
    ['reply', [1]],
    ['reply', 'id'],
    ['reply', Array.from({ length: 65 }, (_, at) => `a${at}`)],
    ['rules', ['a/b']],
    ['rules', [1]],
    ['rules', Array.from({ length: 65 }, (_, at) => `a${at}`)],
  ])('are refused at their place: %s %j', async (name, value) => {
    const answer = await account.send('POST', '/connection', {
      body: { id: 'wrong', ...BASE, [name]: value },
    });
    expect(answer.outcome).toBe('400 invalid_request');
    expect(answer.field).toStartWith(`body.${name}`);
  });

  test('are set by callers alone who see everything; others keep what there is', async () => {
    const id = await connect(account, party, { reply: ['id'] });
    for (const [name, value] of [
      ['reply', ['id', 'number']],
      ['rules', ['a-rule']],
    ] as const) {
      const changed = { ...BASE, [name]: value };
      const refused = ['403 not_allowed', `body.${name}`];
      expect(shown(await writer.send('PUT', `/connection/${id}`, { body: changed }))).toEqual(refused);
      expect(shown(await writer.send('POST', '/connection', { body: { id: 'new', ...changed } }))).toEqual(
        refused,
      );
    }
    const kept = { rules: undefined, reply: ['id'] };
    for (const body of [BASE, { ...BASE, reply: ['id'] }, { ...BASE, reply: null, rules: [] }]) {
      expect(shown(await writer.send('PUT', `/connection/${id}`, { body }))).toEqual(kept);
    }
    expect(shown(await writer.send('POST', '/connection', { body: { id: 'plain', ...BASE } }))).toEqual({
      rules: undefined,
      reply: undefined,
    });
  });
});

describe('a rule that a connection names', () => {
  test('is made, and deleted, by callers alone who see everything', async () => {
    await connect(account, party, { rules: ['later', 'there'] });
    expect((await rule('there', 'x')).status).toBe(200);
    const refused = ['403 not_allowed', 'query.id'];
    const deleting = (client: AccountClient, id: string) => client.send('DELETE', '/rule', { query: { id } });
    for (const answer of [await rule('later', 'x', writer), await deleting(writer, 'there')]) {
      expect([answer.outcome, answer.field]).toEqual(refused);
    }
    expect((await rule('later', 'x', unmasked)).status).toBe(200);
    expect((await deleting(unmasked, 'later')).status).toBe(200);
    expect((await rule('another', 'x', writer)).status).toBe(200);
    expect((await deleting(writer, 'another')).status).toBe(200);
  });

  test('runs over what a request sends, before its own, for whoever sends it', async () => {
    await rule('first', 'no. {{card_number}}');
    await rule('second', '<{{made}}>');
    const connection = await connect(account, party, { rules: ['first'] });
    party.script('/ruled', { body: '{}' });
    const order = {
      request: { ...requestTo('/ruled', { body: '{{{made}}}' }), connection },
      synchronous: true,
    };
    const sender = await credentialClient(vault.handle, account, ['proxy:send']);
    expect((await proxyPost(item, order, { rules: 'second' })).outcome).toBe('200');
    expect((await proxyPost({ ...item, account: sender }, order)).outcome).toBe('200');
    expect(party.calls('/ruled').map(({ text }) => text)).toEqual([
      `<no. ${CARD.card_number}>`,
      `no. ${CARD.card_number}`,
    ]);
  });

  test('that is not there lets nothing be sent', async () => {
    const connection = await connect(account, party, { rules: ['gone'] });
    const order = { request: { ...requestTo('/never'), connection }, synchronous: true };
    const answer = await proxyPost(item, order);
    expect([answer.outcome, answer.field]).toEqual(['404 rule_not_found', 'body.request.connection']);
    expect(party.calls('/never')).toEqual([]);
  });
});

describe('an account without unmasked output', () => {
  test('sees replies masked, and no request that rules have changed', async () => {
    const masked = await vault.account({ unmasked: false });
    await masked.key('u');
    const own = { account: masked, user: 'u', token: await masked.store('u', CARD) };
    party.script('/echo', ({ text }) => ({ body: text }));
    const order = {
      request: requestTo(party.url('/echo'), { body: '{"n":"{{card_number}}"}' }),
      synchronous: true,
    };
    const answer = await proxyPost(own, order, { debug: true });
    const { body, populated_template } = answer.as<{ body: string; populated_template: { body: string } }>();
    expect([body, populated_template.body]).toEqual(Array(2).fill('{"n":"************1111"}'));
    await rule('cut', '{{card_number}}', masked);
    expect((await proxyPost(own, order, { rules: 'cut' })).outcome).toBe('200');
    const refused = await proxyPost(own, order, { rules: 'cut', debug: true });
    expect([refused.outcome, refused.field]).toEqual(['403 not_allowed', 'query.debug']);
  });
});
