/** Stored connections as their owner sees them. */
import { afterAll, describe, expect, test } from 'bun:test';
import { Connection, CreateConnection, ReplaceConnection } from '../../server/connection/schema.ts';
import { CONNECTION_MEMBERS, showConnection } from '../../server/domain/connection/connection.ts';
import type { Answer } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const HOST = 'https://127.0.0.1:8443';
const vault = await openTestVault({ proxy: { allow: ['127.0.0.0/8'] } });
const account = await vault.account();
const other = await vault.account();
afterAll(() => vault.close());

const FULL = {
  base_url: `${HOST}/v1/`,
  headers: [{ Authorization: 'Bearer sk_canary' }, { 'X-Version': '2' }],
  methods: ['post', 'GET'],
  paths: ['/charges', '/refunds'],
  sign: {
    algorithm: 'hmac-sha-256',
    key: 'key_canary',
    header: 'X-Signature',
    payload: '{{timestamp}}.{{body}}',
  },
  timeout_ms: 5_000,
  reply: ['id', 'items[*].id'],
  inbound: true,
};
const SHOWN = {
  base_url: `${HOST}/v1`,
  headers: ['Authorization', 'X-Version'],
  methods: ['POST', 'GET'],
  paths: ['/charges', '/refunds'],
  sign: { algorithm: 'hmac-sha-256', header: 'X-Signature', payload: '{{timestamp}}.{{body}}' },
  timeout_ms: 5_000,
  reply: ['id', 'items[*].id'],
  inbound: true,
};

function create(body: unknown, client = account): Promise<Answer> {
  return client.send('POST', '/connection', { body });
}
function at(method: string, id: string, body?: unknown, client = account): Promise<Answer> {
  return client.send(method, `/connection/${id}`, body === undefined ? {} : { body });
}
function placeOf({ outcome, field }: Answer): string {
  return `${outcome} ${field}`;
}

describe('a connection', () => {
  test('is created, read, listed, replaced and deleted, and no secret of it is shown', async () => {
    const created = await create({ id: 'full', ...FULL });
    expect(created.json).toMatchObject({ id: 'full', ...SHOWN });
    const read = await at('GET', 'full');
    expect(read.json).toEqual(created.json);
    const replaced = await at('PUT', 'full', { base_url: HOST });
    const { created_at } = created.as<{ created_at: string }>();
    const { updated_at, ...rest } = replaced.as<{ updated_at: string }>();
    expect(rest as unknown).toEqual({ id: 'full', base_url: HOST, headers: [], created_at });
    expect(updated_at >= created_at).toBeTrue();
    const listed = await account.send('GET', '/connection');
    expect(listed.json).toEqual([replaced.json]);
    for (const { text } of [created, read, replaced, listed]) {
      expect(text).not.toContain('canary');
    }
    expect((await at('DELETE', 'full')).status).toBe(200);
    expect((await at('GET', 'full')).outcome).toBe('404 connection_not_found');
    expect(placeOf(await at('PUT', 'full', { base_url: HOST }))).toStartWith('404 connection_not_found');
    expect((await at('DELETE', 'full')).outcome).toBe('404 connection_not_found');
  });

  test('has an id that is unique in its account alone', async () => {
    await create({ id: 'same', base_url: HOST });
    expect(placeOf(await create({ id: 'same', base_url: `${HOST}/other` }))).toBe(
      '409 connection_exists body.id',
    );
    expect((await at('GET', 'same')).json).toMatchObject({ base_url: HOST });
    expect((await at('GET', 'same', undefined, other)).outcome).toBe('404 connection_not_found');
    expect((await create({ id: 'same', base_url: `${HOST}/theirs` }, other)).status).toBe(200);
    expect((await at('DELETE', 'same', undefined, other)).status).toBe(200);
    expect((await at('GET', 'same')).json).toMatchObject({ base_url: HOST });
  });

  test('is created once by two requests at the same time', async () => {
    const answers = await Promise.all([1, 2, 3].map(() => create({ id: 'race', base_url: HOST })));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
  });
});

describe('a connection is rejected at its place', () => {
  test.each([
    [{ base_url: 'http://127.0.0.1:8443' }, 'body.base_url'],
    [{ base_url: 'https://user@127.0.0.1' }, 'body.base_url'],
    [{ base_url: 'https://10.0.0.1/' }, 'body.base_url'],
    [{ headers: [{ Host: 'x' }] }, 'body.headers[0]'],
    [{ headers: [{ A: '1' }, { B: 'line\nbreak' }] }, 'body.headers[1]'],
    [{ methods: ['GET', 'CONNECT'] }, 'body.methods[1]'],
    [{ paths: ['charges'] }, 'body.paths[0]'],
    [{ timeout_ms: 10 }, 'body.timeout_ms'],
    [{ reply: ['id', '.'] }, 'body.reply[1]'],
    [{ rules: ['a b'] }, 'body.rules[0]'],
    [{ inbound: 'yes' }, 'body.inbound'],
    [{ sign: { ...FULL.sign, payload: 'constant' } }, 'body.sign.payload'],
    [{ client_cert_id: 7 }, 'body.client_cert_id'],
  ])('%j', async (change, field) => {
    const answer = await create({ id: 'bad', base_url: HOST, ...change });
    expect(answer.status).toBe(400);
    expect(answer.field).toStartWith(field);
    expect((await at('GET', 'bad')).outcome).toBe('404 connection_not_found');
  });
});

describe('the published schema has the members', () => {
  test('that the thread reads', () => {
    for (const schema of [CreateConnection, ReplaceConnection]) {
      expect(Object.keys(schema.properties).sort()).toEqual(CONNECTION_MEMBERS.toSorted());
    }
  });

  test('that the thread shows', () => {
    const whole = {
      baseUrl: HOST,
      headers: [],
      clientCertId: 'cert',
      methods: ['GET' as const],
      paths: ['/'],
      sign: { ...FULL.sign, algorithm: 'hmac-sha-256' as const },
      timeoutMs: 5_000,
      rules: ['r'],
      reply: ['id'],
      inbound: true,
      createdAt: 0,
      updatedAt: 0,
    };
    expect(Object.keys(showConnection('id', whole)).sort()).toEqual(
      Object.keys(Connection.properties).sort(),
    );
  });
});
