/** Several requests on one connection before the first is answered: none has an effect that its caller is not told of. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { listen } from '../../server/http/listen/listen.ts';
import { type AccountClient, basicAuth, PASSPHRASE } from '../helpers/clients.ts';
import { createCapture } from '../helpers/endpoints.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { talkTo } from '../http/talk.ts';

const NUMBERS = ['4111111111111111', '5555555555554444', '378282246310005'];

let vault: TestVault;
let account: AccountClient;
let server: ReturnType<typeof listen>;
let secret: string;
let keys = 0;

beforeAll(async () => {
  vault = await openTestVault();
  account = await vault.account();
  await account.key('u');
  ({ secret } = await createCapture(account, 'u', { unique_id: 'shop' }));
  server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(async () => {
  await server.stop(true);
  await vault.close();
});

function posting(path: string, head: string, body: object): string {
  const text = JSON.stringify(body);
  return `POST /v1${path} HTTP/1.1\r\nHost: vault.test\r\n${head}Content-Length: ${text.length}\r\n\r\n${text}`;
}
function owner(): string {
  return `Authorization: ${basicAuth(account.name, account.password)}\r\nX-Vault-Passphrase: ${encodeURIComponent(PASSPHRASE)}\r\n`;
}

/** Items and keys, when everything that was begun has ended: the unlock of a new key waits behind all others. */
async function stored(): Promise<number> {
  keys += 1;
  await account.key(`own-${keys}`);
  await account.sdk.vault.store({ user: `own-${keys}`, data: { number: '1' } });
  const items = (await vault.raw.keys('*')).filter((name) => name.includes('}i'));
  const { data } = await account.sdk.keys.list({ limit: -1 });
  return items.length + data.length - 2 * keys;
}

const KINDS: Readonly<Record<string, (number: string) => string>> = {
  stores: (number) => posting('/vault?user=u', owner(), { number }),
  captures: (number) => posting('/capture/shop', `X-Vault-Capture-Secret: ${secret}\r\n`, { number }),
  keys: (number) => posting('/key', owner(), { user: `k${number}`, passphrase: 'a passphrase of its own' }),
};

describe.each(Object.keys(KINDS))('%s in one segment', (kind) => {
  test.each([2, 3])('%d of them: as many have happened as were answered', async (count) => {
    const make = KINDS[kind];
    const before = await stored();
    const segment = NUMBERS.slice(0, count).map((number) => make?.(number) ?? '');
    const { text } = await talkTo(server.port, segment.join(''));
    const answered = text.match(/HTTP\/1\.1 200/g)?.length ?? 0;
    expect((await stored()) - before).toBe(answered);
  });

  test('one after the other on one connection: each is answered', async () => {
    const [first = ''] = NUMBERS;
    const isWhole = (text: string) => /\r\n\r\n.*\}$/s.test(text);
    const { text } = await talkTo(server.port, KINDS[kind]?.(`${first}9`) ?? '', isWhole);
    expect(text).toStartWith('HTTP/1.1 200');
  });
});
