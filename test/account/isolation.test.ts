/** Everything that one account may call, with the names of another account's things: the answers are those for any name. */
import { afterAll, describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { type Answer, PASSPHRASE, type Query, type Sending } from '../helpers/clients.ts';
import { furnish, REPEATABLE } from '../helpers/furnish.ts';
import { CARD, openProxyVault } from '../helpers/proxy.ts';

/** What of the other account a call names. */
interface Names {
  readonly token: string;
  readonly reference: string | undefined;
  readonly user: string;
  readonly rule: string;
  readonly connection: string;
  readonly capture: string;
  readonly retrieve: string;
  readonly form: string;
  readonly csr: string;
  readonly certificate: string;
  readonly cursor: string;
  readonly job: string;
}
interface Call {
  readonly method: string;
  readonly path: string;
  readonly sending?: Sending;
}

const BODY = { card_number: '5105105105105100' };
const ORDER = { method: 'POST', url: 'https://127.0.0.1:9/', body: '{{card_number}}' };

const vault = await openProxyVault({ jobs: false });
const owner = await furnish(vault);
const form = `f-${owner.client.name}`;
const page = await owner.client.send('GET', '/vault', { query: { user: 'u', limit: 1 } });
const cursor = page.headers.get('x-vault-next-token') ?? '';
expect(cursor).not.toBe('');
const other = await vault.account({ unmasked: true });
// The worst case: keys of the same names, under the same passphrase.
for (const user of ['u', 'empty']) {
  await other.key(user);
}
afterAll(() => vault.close());

/** The calls that read, change, delete or use an item. */
function itemCalls({ user, token, reference }: Names): readonly Call[] {
  const query: Query = { user, token, reference };
  const passphrase = PASSPHRASE;
  return [
    { method: 'GET', path: '/vault', sending: { query, passphrase } },
    { method: 'GET', path: '/vault', sending: { query: { ...query, decrypt_all: true }, passphrase } },
    { method: 'GET', path: '/vault/metadata', sending: { query } },
    { method: 'GET', path: '/audit', sending: { query: { token } } },
    { method: 'POST', path: '/vault/update', sending: { query, passphrase, body: { name: 'changed' } } },
    { method: 'POST', path: '/proxy/post', sending: { query, passphrase, body: { request: ORDER } } },
    {
      method: 'POST',
      path: '/proxy/network_token',
      sending: { query, passphrase, body: {} },
    },
    { method: 'DELETE', path: '/vault', sending: { query } },
  ];
}

/** The calls that name anything but an item. */
function otherCalls(names: Names): readonly Call[] {
  const { user, rule, connection, capture, retrieve, csr, certificate, job } = names;
  const passphrase = PASSPHRASE;
  const body = BODY;
  const withCert = { request: { ...ORDER, client_cert_id: certificate } };
  const own = { user };
  const calls: Call[] = [
    { method: 'GET', path: '/rule', sending: { query: { id: rule } } },
    { method: 'DELETE', path: '/rule', sending: { query: { id: rule } } },
    { method: 'GET', path: `/connection/${connection}` },
    { method: 'PUT', path: `/connection/${connection}`, sending: { body: { base_url: ORDER.url } } },
    { method: 'DELETE', path: `/connection/${connection}` },
    { method: 'GET', path: '/proxy/csr', sending: { query: { id: csr } } },
    { method: 'DELETE', path: '/proxy/csr', sending: { query: { id: csr } } },
    { method: 'GET', path: '/proxy/cert', sending: { query: { id: certificate } } },
    { method: 'GET', path: '/proxy/cert', sending: { query: { csr_id: csr } } },
    { method: 'DELETE', path: '/proxy/cert', sending: { query: { id: certificate } } },
    {
      method: 'POST',
      path: '/proxy/cert',
      sending: { query: { csr_id: csr }, body: 'x', headers: { 'content-type': 'application/x-pem-file' } },
    },
    { method: 'POST', path: '/proxy/get', sending: { query: own, passphrase, body: withCert } },
    { method: 'POST', path: '/capture', sending: { query: { ...own, rules: rule }, passphrase } },
    { method: 'POST', path: '/retrieve', sending: { query: { ...own, rules: rule }, passphrase } },
    {
      method: 'GET',
      path: '/vault',
      sending: { query: { ...own, rules: rule, decrypt_all: true }, passphrase },
    },
    { method: 'GET', path: '/vault', sending: { query: { ...own, next_token: names.cursor, limit: 1 } } },
    { method: 'GET', path: '/key', sending: { query: { next_token: names.cursor, limit: 1 } } },
    { method: 'GET', path: '/audit', sending: { query: { next_token: names.cursor, limit: 1 } } },
    { method: 'GET', path: '/vault/access', sending: { query: { endpoint: retrieve } } },
    { method: 'GET', path: '/vault/access', sending: { query: { next_token: names.cursor, limit: 1 } } },
    { method: 'GET', path: `/proxy/${job}` },
  ];
  for (const kind of ['capture', 'retrieve'] as const) {
    for (const id of [capture, retrieve]) {
      const path = `/${kind}/${id}`;
      const guess = { [`x-vault-${kind}-secret`]: 'x'.repeat(43) };
      calls.push(
        { method: 'POST', path, sending: { body } },
        { method: 'GET', path, sending: { query: { token: names.token } } },
        { method: kind === 'capture' ? 'POST' : 'GET', path, sending: { headers: guess } },
        { method: 'DELETE', path },
      );
    }
    calls.push(
      { method: 'GET', path: `/${kind}/iframe`, sending: { query: { form_id: names.form } } },
      { method: 'DELETE', path: `/${kind}/iframe/${names.form}` },
    );
  }
  return calls;
}

/** The names of the owner, item by item and reference by reference, under each name of a key. */
function ownersNames(): readonly Names[] {
  const fixed = {
    ...{
      rule: 'r',
      connection: 'pay',
      capture: owner.capture.unique_id,
      retrieve: owner.retrieve.unique_id,
      form,
      cursor,
    },
    ...{ csr: owner.csr, certificate: owner.certificate, job: owner.job },
  };
  const tokens = [owner.card, owner.opened, owner.luhn, owner.captured];
  const references = [undefined, 'order/1', owner.capturedReference];
  return tokens.flatMap((token) =>
    references.flatMap((reference) => ['u', 'empty'].map((user) => ({ ...fixed, token, reference, user }))),
  );
}

/** A name of the same form that nobody has. */
function anyOf(text: string): string {
  const random = randomBytes(text.length).toString('hex');
  return [...text].map((char, at) => (/[0-9a-f]/.test(char) ? random[at] : char)).join('');
}

/** Names that nobody has. Under the name of a key stays a key that there is: the caller's own. */
function randomNames({ token, reference, user, cursor: _, ...ids }: Names): Names {
  const any = Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, anyOf(id)])) as typeof ids;
  return {
    ...any,
    rule: 'q',
    connection: 'nil',
    form: `f-${anyOf('0000000000')}`,
    token: /^\d+$/.test(token) ? LUHN_OF_NOBODY : anyOf(token),
    reference: reference === undefined ? undefined : anyOf(reference),
    user,
    cursor,
  };
}
/** Luhn-valid, as tokens of that kind are. */
const LUHN_OF_NOBODY = '4539578763621486';

/** Status, headers and body, with all that a caller has said himself left out. */
function seen(answer: Answer, names: Names): unknown {
  const said = Object.values(names).filter((name) => name !== undefined && name.length > 1);
  const without = (text: string): string =>
    said
      .reduce((left, name) => left.replaceAll(name, '<name>'), text)
      .replaceAll(/"(?:request_id|unique_id|secret|expires_at|time|id|url)":"[^"]*"/g, '"…"');
  const headers = [...answer.headers].filter(
    ([name]) => !/^(?:date|x-request-id|content-length|server-timing)$/.test(name),
  );
  // The caller's own log grows with each call.
  const isOwn = (entry: unknown): boolean => Object(entry).actor === `account/${other.name}`;
  const isLog = Array.isArray(answer.json) && answer.json.some(isOwn);
  const body = isLog ? JSON.stringify([answer.json].flat().filter((entry) => !isOwn(entry))) : answer.text;
  return { status: answer.status, headers, body: without(body) };
}

/** The records of everybody but the caller, as Redis has them. */
async function recordsOfOthers(): Promise<ReadonlyMap<string, string>> {
  const isKept = (key: string): boolean => !key.includes(other.aid);
  const keys = (await vault.raw.keys('*')).filter(isKept).sort();
  const dumps = await Promise.all(keys.map((key) => vault.raw.dumpBuffer(key)));
  return new Map(keys.map((key, at) => [key, dumps[at]?.toString('base64') ?? '']));
}

/** What of an answer is the owner's: a number, a name, or a record. */
function ownersIn({ text }: Answer): boolean {
  const secrets = [
    CARD.card_number,
    CARD.card_holder,
    '5555555555554444',
    '6011111111111117',
    '378282246310005',
  ];
  return secrets.some((secret) => text.includes(secret));
}

describe("another account's names", () => {
  test('are those of nobody, in more than 400 calls: nothing is read, nothing changes', async () => {
    const all = ownersNames();
    const [first] = all;
    if (first === undefined) {
      throw new Error('the owner has items');
    }
    const before = await recordsOfOthers();
    expect(before.size).toBeGreaterThan(20);
    let calls = 0;
    const differences: unknown[] = [];
    const leaks: unknown[] = [];
    const compare = async (names: Names, callsOf: (names: Names) => readonly Call[]): Promise<void> => {
      const random = randomNames(names);
      const pairs = callsOf(names).map((call, at) => [call, callsOf(random)[at] ?? call] as const);
      for (const [theirs, nobodys] of pairs) {
        const answer = await other.send(theirs.method, theirs.path, theirs.sending);
        const same = await other.send(nobodys.method, nobodys.path, nobodys.sending);
        calls += 1;
        if (ownersIn(answer)) {
          leaks.push([theirs, answer.text]);
        }
        const [one, two] = [seen(answer, names), seen(same, random)];
        if (!Bun.deepEquals(one, two)) {
          differences.push([theirs, one, two]);
        }
      }
    };
    for (const names of all) {
      await compare(names, itemCalls);
    }
    for (const names of all.slice(0, 8)) {
      await compare(names, otherCalls);
    }
    expect(leaks).toEqual([]);
    expect(differences).toEqual([]);
    expect(calls).toBeGreaterThanOrEqual(400);
    const after = await recordsOfOthers();
    const changed = [...before].filter(([key, value]) => after.get(key) !== value).map(([key]) => key);
    expect(changed).toEqual([]);
  }, 120_000);

  test('are not given away by a repeat of a request under the same idempotency key', async () => {
    const answer = await other.send('POST', '/vault', REPEATABLE);
    expect(answer.outcome).toBe('200');
    expect(answer.headers.get('idempotency-replayed')).toBeNull();
    expect(answer.as<{ token: string }>().token).not.toBe(owner.replied.as<{ token: string }>().token);
  });

  test('that are claimed in the whole vault can be seen to be taken, and nothing more', async () => {
    for (const kind of ['capture', 'retrieve']) {
      const query = { user: 'u', unique_id: owner.capture.unique_id };
      const answer = await other.send('POST', `/${kind}`, { query, passphrase: PASSPHRASE });
      expect(answer.status).toBe(409);
      expect(answer.text).not.toContain(owner.client.name);
    }
  });
});
