import { afterAll, expect, test } from 'bun:test';
import type { LogEntry } from '../../../sdk/index.ts';
import { type Answer, PASSPHRASE, type Query } from '../../helpers/clients.ts';
import { capture, createCapture, createRetrieve, retrieve } from '../../helpers/endpoints.ts';
import { CARD, type Item, jobsDone, openProxyVault, proxyPost, requestTo } from '../../helpers/proxy.ts';
import { startThirdParty } from '../../helpers/third-party.ts';
import { createReceiver } from '../../helpers/webhook.ts';

const ITEMS = 40;
const OPERATIONS = 400;
const AT_ONCE = 25;

let requests = 0;

const party = await startThirdParty();
const vault = await openProxyVault({ authFailuresMax: OPERATIONS });
const account = await vault.account();
await account.key('u');
const capturing = await createCapture(account, 'u', { unique_id: 'checkout' });
const retrieving = await createRetrieve(account, 'u');
afterAll(async () => {
  await vault.close();
  party.stop();
});

/** A UUID in which no digits could be taken for a card number: such an id is replaced by one of the vault's own. */
function uuid(): string {
  for (;;) {
    const id = crypto.randomUUID();
    if (!/(?:\d-?){13}/.test(id)) {
      return id;
    }
  }
}

/** Ids of all the forms that a caller may send. */
function freshRequest(): { readonly id: string; readonly headers: Readonly<Record<string, string>> } {
  requests += 1;
  const forms = [uuid(), uuid().toUpperCase(), `order-${requests}-of-the-day`];
  const id = `${forms[requests % forms.length]}`;
  return { id, headers: { 'x-request-id': id } };
}
/** The log of an item in pages of a few entries, newest first. */
async function logOf(token: string, reference?: string): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = [];
  let next_token: string | undefined;
  do {
    const named = { user: 'u', token, ...(reference === undefined ? {} : { reference }) };
    const page = await account.sdk.vault.log({ ...named, limit: 7, next_token });
    entries.push(...page.data);
    next_token = page.next_token;
  } while (next_token !== undefined);
  return entries;
}
function facts({ action, source, outcome, actor, endpoint = '-', request_id }: LogEntry): string {
  expect(actor).toBe(account.name);
  return [action, source, outcome, endpoint, request_id].join(' ');
}

test('every way of use names its request, and the endpoint where one is used', async () => {
  const { webhook } = createReceiver(party);
  const item: Item = { account, user: 'u', token: await account.store('u', CARD) };
  const { token } = item;
  const query = { user: 'u', token };
  const made = { passphrase: PASSPHRASE };
  const request = requestTo(party.url('/charge'));
  const expected: string[] = [];
  const use = async (way: string, send: (headers: Readonly<Record<string, string>>) => Promise<Answer>) => {
    const { id, headers } = freshRequest();
    expect((await send(headers)).outcome).toBe('200');
    expected.unshift(`${way} ${id}`);
  };
  await use('decrypt vault ok -', (headers) => account.send('GET', '/vault', { query, ...made, headers }));
  await use('encrypt vault ok -', (headers) =>
    account.send('POST', '/vault/update', { query, ...made, headers, body: { holder: 'A' } }),
  );
  await use('encrypt vault ok -', (headers) =>
    account.send('POST', '/vault', { query: { user: 'u' }, ...made, headers, body: CARD }),
  );
  await use('decrypt vault ok -', (headers) =>
    account.send('GET', '/vault', { query: { user: 'u', decrypt_all: true }, ...made, headers }),
  );
  const read = `ok ${retrieving.unique_id}`;
  await use(`decrypt retrieve ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { token }, headers }),
  );
  await use(`decrypt retrieve ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { decrypt_all: true }, headers }),
  );
  await use(`decrypt form ${read}`, (headers) =>
    retrieve(vault, retrieving, { query: { token, form_type: 'pcd' }, headers }),
  );
  party.script('/charge', 200);
  await use('decrypt proxy ok -', (headers) =>
    proxyPost(item, { request, synchronous: true }, {}, { ...made, headers }),
  );
  await use('decrypt proxy ok -', (headers) =>
    proxyPost(item, { request, webhook }, {}, { ...made, headers }),
  );
  await jobsDone(vault, account);
  expect((await logOf(token)).map(facts).slice(0, -1)).toEqual(expected);
  for (const [way, form_type] of [
    ['capture', undefined],
    ['form', 'pcd'],
  ] as const) {
    const { id, headers } = freshRequest();
    const answer = await capture(vault, capturing, {
      query: { form_type, reference: way },
      headers,
      body: CARD,
    });
    const captured = await logOf(answer.as<{ token: string }>().token, way);
    expect(captured.map(facts)).toEqual([`encrypt ${way} ok checkout ${id}`]);
  }
});

/** One operation on an item, and what its log must say of it; `%` is the request's id. */
type Operation = readonly [
  string,
  (item: Stored, headers: Readonly<Record<string, string>>) => Promise<Answer>,
];

interface Stored {
  readonly token: string;
  readonly number: string;
}

function mixedOperations(): readonly Operation[] {
  const reference = 'r';
  const made = { passphrase: PASSPHRASE };
  const queryOf = ({ token }: Stored, more: Query = {}): Query => ({ user: 'u', token, reference, ...more });
  const outside = retrieving.unique_id;
  return [
    [
      'decrypt vault ok - %',
      (item, headers) => account.send('GET', '/vault', { query: queryOf(item), ...made, headers }),
    ],
    [
      'decrypt vault ok - %',
      (item, headers) =>
        account.send('GET', '/vault', { query: queryOf(item, { decrypt_all: true }), ...made, headers }),
    ],
    [
      'encrypt vault ok - %',
      (item, headers) =>
        account.send('POST', '/vault/update', { query: queryOf(item), ...made, headers, body: { a: 1 } }),
    ],
    [
      'encrypt vault ok - %',
      ({ number }, headers) =>
        account.send('POST', '/vault', {
          query: { user: 'u', reference },
          ...made,
          headers,
          body: { number },
        }),
    ],
    [
      'encrypt capture ok checkout %',
      ({ number }, headers) => capture(vault, capturing, { query: { reference }, headers, body: { number } }),
    ],
    [
      `decrypt retrieve ok ${outside} %`,
      ({ token }, headers) => retrieve(vault, retrieving, { query: { token, reference }, headers }),
    ],
    [
      'decrypt vault token_not_found - %',
      (item, headers) =>
        account.send('GET', '/vault', { query: queryOf(item, { reference: 's' }), ...made, headers }),
    ],
    [
      'encrypt vault reference_required - %',
      (item, headers) =>
        account.send('DELETE', '/vault', { query: queryOf(item, { reference: undefined }), headers }),
    ],
  ];
}

test('of hundreds of mixed operations at once each is in the log of its item once, in pages too', async () => {
  const operations = mixedOperations();
  const items = await Promise.all(
    Array.from({ length: ITEMS }, async (_, n): Promise<Stored> => {
      const number = `7000${n}`;
      const token = await account.store('u', { number }, { reference: 'r' });
      return { token, number };
    }),
  );
  const expected = new Map(items.map(({ token }): [string, string[]] => [token, []]));
  let begun = 0;
  const walked: (readonly [string, readonly string[]])[] = [];
  const work = async (): Promise<void> => {
    while (begun < OPERATIONS) {
      begun += 1;
      const item = items[(begun * 7) % ITEMS];
      const operation = operations[(begun * 5 + Math.floor(begun / ITEMS)) % operations.length];
      if (!item || !operation) {
        throw new Error('there are items and operations');
      }
      const [line, act] = operation;
      const { id, headers } = freshRequest();
      const { outcome } = await act(item, headers);
      const [, , wanted = ''] = line.split(' ');
      expect(outcome.endsWith(wanted === 'ok' ? '200' : wanted)).toBe(true);
      expected.get(item.token)?.push(line.replace('%', id));
      if (begun % 50 === 0) {
        walked.push([item.token, (await logOf(item.token, 'r')).map(facts)]);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect([...expected.values()].flat()).toHaveLength(OPERATIONS);
  const logs = new Map<string, readonly string[]>();
  for (const [token, lines] of expected) {
    const entries = await logOf(token, 'r');
    const [stored = '', ...used] = entries.map(facts).reverse();
    expect(stored).toStartWith('encrypt vault ok - ');
    expect(used.toSorted()).toEqual(lines.toSorted());
    logs.set(token, [stored, ...used]);
  }
  // What was read page by page while entries were added is the log as it was then.
  expect(walked.length).toBeGreaterThan(0);
  for (const [token, lines] of walked) {
    expect(lines.toReversed()).toEqual([...(logs.get(token) ?? []).slice(0, lines.length)]);
  }
});
