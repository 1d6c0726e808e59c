/** Messages of other systems through a server that runs: what arrives differs in the values of cards alone. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATHS, payload, putBack } from '../domain/payloads/messages.ts';
import { type AccountClient, createAccountClient, PASSPHRASE } from '../helpers/clients.ts';
import { connectInbound, newInbound, sendThrough } from '../helpers/inbound.ts';
import { handleOf, OWNER } from '../helpers/server-process.ts';
import { startThirdParty, type ThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { endAll, newFolder, type ServerProcess, startProcess } from '../serving/process.ts';

const CARDS = 'cards';
const TOKEN = '[0-9a-f]{64}';
/** The message whose second card has no check digit: `"cards"` does not take it for one, and nothing else must stop it. */
const GIFT = '6036289825920009';

let server: ServerProcess;
let account: AccountClient;
let merchant: ThirdParty;
let shop: string;
const handle = handleOf(() => server.ready);

beforeAll(async () => {
  const folder = newFolder();
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, (await thirdPartyTrust()).authority.pem);
  merchant = await startThirdParty();
  server = startProcess({
    VAULT_DATA_DIR: folder,
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    VAULT_PROXY_CA_FILE: caFile,
  });
  account = createAccountClient(handle, OWNER);
  await account.key('u');
  shop = await connectInbound(account, merchant);
}, 60_000);

afterAll(async () => {
  merchant.stop();
  await endAll();
});

/** The numbers of all items, by token. */
async function numbersByToken(): Promise<ReadonlyMap<string, string>> {
  const query = { user: 'u', decrypt_all: true, limit: -1 };
  const { text } = await account.send('GET', '/vault', { query, passphrase: PASSPHRASE });
  const users: Readonly<Record<string, readonly { token: string; data: { card_number: string } }[]>> =
    JSON.parse(text);
  return new Map(
    Object.values(users).flatMap((items) => items.map(({ token, data }) => [token, data.card_number])),
  );
}

/** Paths do not lead into a text within a text, which smart parse reads. */
const XML_IN_A_FORM = '19';
const WAYS = [
  ...Object.keys(PATHS).flatMap((id) => [[id, 'extract'] as const, [id, CARDS] as const]),
  [XML_IN_A_FORM, CARDS] as const,
];

test.each(WAYS)('message %s with %s', async (id, way) => {
  const { sent, contentType, cards } = payload(id);
  const [number = '', code, reference] = PATHS[id] ?? [];
  const extract = way === CARDS ? CARDS : [{ number, code, reference }];
  const inbound = await newInbound(account, { connection: shop, extract });
  const path = `/${id}-${way}`;
  merchant.script(path, 200);
  const answer = await sendThrough(handle, inbound, path, {
    body: sent,
    headers: { 'content-type': contentType },
  });
  expect(answer.outcome).toBe('200');
  const arrived = await merchant.call(path);
  const numbers = await numbersByToken();
  const found: string[] = [];
  const back = putBack(id, arrived.body, TOKEN, (token) => {
    found.push(numbers.get(token) ?? `no item ${token}`);
    return found.at(-1) ?? '';
  });
  expect(back).toBe(sent.toString('latin1'));
  expect(arrived.header('content-type')).toBe(contentType);
  expect(answer.headers.get('x-vault-stored')).toBe(String(found.length));
  const wanted = cards.filter((card) => way !== CARDS || card.number !== GIFT);
  expect(new Set(found)).toEqual(new Set(wanted.map((card) => card.number)));
  if (process.env['VAULT_TEST_TRANSCRIPT'] !== undefined) {
    process.stdout.write(
      `${id} ${way}: ${sent.length} bytes sent, ${arrived.body.length} arrived, ${found.length} tokens\n`,
    );
  }
});
