import { afterAll, describe, expect, test } from 'bun:test';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { type Answer, refusalOf } from '../helpers/clients.ts';
import { openTestVault } from '../helpers/vault.ts';

const NAMES =
  'noop,stringify,substr,parse_float,parse_json,convert_to_int,replace,mask,format,template,hash,encode,nonce,encrypt'.split(
    ',',
  );
const NOOP = { name: 'noop' };

const vault = await openTestVault();
const account = await vault.account();
const other = await vault.account();
afterAll(() => vault.close());

function post(id: string | undefined, body: unknown, client = account): Promise<Answer> {
  return client.send('POST', '/rule', { query: { id }, ...(body === undefined ? {} : { body }) });
}
function get(id?: string, client = account): Promise<Answer> {
  return client.send('GET', '/rule', { query: { id } });
}
function remove(id: string | undefined, client = account): Promise<Answer> {
  return client.send('DELETE', '/rule', { query: { id } });
}
function idsOf(answer: Answer): string[] {
  return answer.as<{ id: string }[]>().map(({ id }) => id);
}
function placeOf({ outcome, field }: Answer): string {
  return `${outcome} ${field}`;
}

describe('a rule', () => {
  const operations = [
    {
      name: 'substr',
      input_field: 'expiry_year',
      output_field: 'short',
      order_position: 1,
      arguments: { start: -2, end: 0 },
    },
    { name: 'format', arguments: { format_string: '%v/%v', keys: ['a', 'b'] }, order_position: -7 },
    NOOP,
  ];

  test('is made of a list, shown as it was written, listed, deleted, and then free again', async () => {
    const rule = { id: 'first', operations };
    expect((await post('first', operations)).json).toEqual(rule);
    expect((await get('first')).json).toEqual(rule);
    expect((await get()).json).toEqual([rule]);
    expect((await remove('first')).json).toEqual({ message: 'The rule was deleted.' });
    expect((await get('first')).outcome).toBe('404 rule_not_found');
    expect((await get()).json).toEqual([]);
    expect(placeOf(await remove('first'))).toBe('404 rule_not_found query.id');
    expect((await post('first', [NOOP])).json).toEqual({ id: 'first', operations: [NOOP] });
    await remove('first');
  });

  test('can be sent back as it was shown, and nothing else in that object counts', async () => {
    const sent = { id: 'other', account: other.aid, created_at: 'x', operations };
    expect((await post('again', sent)).json).toEqual({ id: 'again', operations });
    expect((await get('other')).outcome).toBe('404 rule_not_found');
    expect((await get(undefined, other)).json).toEqual([]);
    await remove('again');
  });

  test('is not replaced by a second one of its id', async () => {
    await post('kept', [NOOP]);
    const refused = await post('kept', [{ name: 'stringify' }]);
    expect(placeOf(refused)).toBe('409 rule_exists query.id');
    expect((await get('kept')).json).toEqual({ id: 'kept', operations: [NOOP] });
    expect(placeOf(await post('kept', []))).toBe('400 invalid_request body');
    await remove('kept');
  });

  test('goes to one of many who make it at once', async () => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => post('raced', [{ name: 'noop', order_position: n }])),
    );
    const made = all.filter(({ status }) => status === 200);
    expect(made).toHaveLength(1);
    expect(all.filter(({ outcome }) => outcome === '409 rule_exists')).toHaveLength(7);
    expect((await get('raced')).json).toEqual(made[0]?.json ?? {});
    await remove('raced');
  });

  test('is listed with the others by id', async () => {
    const ids = ['b', 'a', 'Z', '10', '9', 'a.b', 'A', 'ab', '@x', '_', 'z'.repeat(128)];
    for (const id of ids) {
      await post(id, [NOOP]);
    }
    expect(idsOf(await get())).toEqual(ids.toSorted());
    await Promise.all(ids.map((id) => remove(id)));
  });

  test('lies sealed in Redis, and goes with its account', async () => {
    const client = await vault.account();
    const secret = 'a-secret-hmac-key-of-a-rule';
    const hash = { name: 'hash', arguments: { algorithm: 'hmac-sha-256', key: secret } };
    await post('sealed', [hash], client);
    const record = await vault.raw.hgetBuffer(redisKeys.rules(client.aid), 'sealed');
    expect(record?.length).toBeGreaterThan(0);
    expect(record?.includes('hmac') || record?.includes(secret)).toBe(false);
    expect(JSON.stringify(vault.lines)).not.toContain(secret);
    await vault.opened.removeAccount(client.name);
    expect(await vault.raw.exists(redisKeys.rules(client.aid))).toBe(0);
  });
});

describe('of another account', () => {
  test('a rule cannot be seen or deleted, and its id is free here', async () => {
    await post('theirs', [{ name: 'stringify' }], other);
    const missing = await get('nothing');
    expect(refusalOf(await get('theirs'))).toEqual(refusalOf(missing));
    expect(refusalOf(await remove('theirs'))).toEqual(refusalOf(await remove('nothing')));
    expect((await get()).json).toEqual([]);
    expect((await post('theirs', [NOOP])).outcome).toBe('200');
    await remove('theirs');
    expect((await get('theirs', other)).json).toEqual({ id: 'theirs', operations: [{ name: 'stringify' }] });
  });
});

describe('an id', () => {
  test('of another form is refused', async () => {
    for (const id of ['', ' ', 'a b', 'a,b', 'a/b', 'ä', 'iframe', 'x'.repeat(129), '*', 'a\u0000']) {
      for (const answer of [await post(id, [NOOP]), await get(id), await remove(id)]) {
        expect(placeOf(answer)).toBe('400 invalid_request query.id');
      }
    }
  });

  test('is needed to make and to delete, and may be given once', async () => {
    expect(placeOf(await post(undefined, [NOOP]))).toBe('400 invalid_request query.id');
    expect(placeOf(await remove(undefined))).toBe('400 invalid_request query.id');
    const twice = await account.send('POST', '/rule?id=a&id=b', { body: [NOOP] });
    expect(twice.outcome).toBe('400 duplicate_parameter');
    expect((await account.send('GET', '/rule?id=a&id=a')).outcome).toBe('400 duplicate_parameter');
  });

  test('may be what every object has, or what a route is called', async () => {
    for (const id of ['operations', '__proto__', 'constructor', 'A.b_c@d:e-f', '0']) {
      expect((await post(id, [NOOP])).json).toEqual({ id, operations: [NOOP] });
      expect((await get(id)).json).toEqual({ id, operations: [NOOP] });
      expect((await account.send('GET', '/rule/operations')).json).toEqual({ operations: NAMES });
      await remove(id);
      expect((await get(id)).outcome).toBe('404 rule_not_found');
    }
  });
});

describe('a body', () => {
  const operations = (count: number): object[] => Array<object>(count).fill(NOOP);

  test('has 1 to 64 operations', async () => {
    for (const count of [1, 64]) {
      expect((await post('count', operations(count))).as<{ operations: [] }>().operations).toHaveLength(
        count,
      );
      await remove('count');
    }
    for (const count of [0, 65]) {
      expect(placeOf(await post('count', operations(count)))).toBe('400 invalid_request body');
      expect(placeOf(await post('count', { operations: operations(count) }))).toBe(
        '400 invalid_request body.operations',
      );
    }
  });

  // What else is wrong with one: test/domain/rule/check.
  const faults: readonly (readonly [string, unknown, string])[] = [
    ['one operation without a list', NOOP, 'body'],
    ['an unknown name', [NOOP, NOOP, { name: 'uppercase' }], 'body[2].name'],
    ['a member __proto__', '[{"name":"noop","__proto__":{"a":1}}]', 'body[0].__proto__'],
    ['a wrong argument', [NOOP, { name: 'substr', arguments: { start: '1' } }], 'body[1].arguments.start'],
    ['the first fault of several', [{ name: 'x' }, { name: 'y' }], 'body[0].name'],
  ];
  test.each(faults)('of %s is refused at its place, and nothing is kept', async (_, body, field) => {
    const refused = await post('faulty', body);
    expect(placeOf(refused)).toBe(`400 invalid_request ${field}`);
    expect(refused.text).not.toContain('uppercase');
    expect((await get('faulty')).outcome).toBe('404 rule_not_found');
  });

  test('that is no JSON, repeats a member, is too deep or empty is refused', async () => {
    expect((await post('faulty', '[{')).outcome).toBe('400 invalid_json');
    expect((await post('faulty', '[{"name":"noop","name":"noop"}]')).outcome).toBe('400 invalid_json');
    expect((await post('faulty', `${'['.repeat(65)}${']'.repeat(65)}`)).outcome).toBe('400 json_too_deep');
    expect(placeOf(await post('faulty', ''))).toBe('400 invalid_request body');
    expect(placeOf(await post('faulty', undefined))).toBe('400 invalid_request body');
  });

  test('may have 256 KB and no more', async () => {
    const list = JSON.stringify([NOOP]);
    const fill = (bytes: number): string => list + ' '.repeat(bytes - list.length);
    expect((await post('large', fill(262_144))).outcome).toBe('200');
    await remove('large');
    expect(placeOf(await post('large', fill(262_145)))).toBe('413 body_too_large body');
    expect((await get('large')).outcome).toBe('404 rule_not_found');
  });

  test('may not have more text in its arguments than can be made ready quickly', async () => {
    const template = (length: number) => ({ name: 'template', arguments: { template: 'x'.repeat(length) } });
    expect((await post('long', [template(65_536), template(65_536)])).outcome).toBe('200');
    await remove('long');
    expect(placeOf(await post('long', [template(65_536), template(65_536), template(1)]))).toBe(
      '400 invalid_request body',
    );
    expect(placeOf(await post('long', [template(65_537)]))).toBe(
      '400 invalid_request body[0].arguments.template',
    );
  });
});
