import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Vault } from '../../sdk/index.ts';
import { listen } from '../../server/http/listen/listen.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { webhookCall } from '../helpers/webhook.ts';
import { callNames } from './call-names.ts';
import { README, readmeProgram } from './readme.ts';

const WEBHOOK_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const SDK = join(import.meta.dir, '../../sdk/index.ts');

function receivedCall(): Request {
  return new Request('https://shop.example/webhooks', { method: 'POST', ...webhookCall(WEBHOOK_SECRET) });
}

let folder = '';
let vault: TestVault;
let server: ReturnType<typeof listen>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-readme-'));
  vault = await openTestVault();
  server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
});
afterAll(async () => {
  await server?.stop(true);
  await vault?.close();
  await rm(folder, { recursive: true, force: true });
});

test('the examples of sdk/README.md do what they say', async () => {
  const { name, password } = await vault.account();
  // All else is as printed.
  const program = (await readmeProgram())
    .replace("'http://127.0.0.1:8080'", `'http://127.0.0.1:${server.port}'`)
    .replace("'admin'", `'${name}'`)
    .replace('the-password-that-was-printed', password)
    .replaceAll('@cardvault/sdk', SDK);
  const file = join(folder, 'readme.ts');
  const shared = 'card, token, tokens, expiries, known, saved, url, shown, receive';
  await Bun.write(file, `${program}\nexport { ${shared} };\n`);
  const { card, token, tokens, expiries, known, saved, url, shown, receive } = await import(file);
  expect(card).toEqual({ card_number: '4111111111111111', expiry: '12/29' });
  expect(tokens).toEqual([token]);
  expect([...expiries]).toEqual([[token, '12/29']]);
  expect(known).toBe('exists');
  expect(saved).toEqual({ token: expect.any(String), user: 'readme', reference: url.split('/').at(-1) });
  expect(shown).toEqual({ card_number: '************4444', card_holder: 'Zoë' });
  expect(await (await receive(receivedCall())).text()).toBe('4711: 402');
  const forged = receivedCall();
  forged.headers.set('webhook-id', 'evt_2');
  const refusal: Response = await receive(forged);
  expect([refusal.status, await refusal.text()]).toEqual([400, 'signature_mismatch']);
});

test('the table of sdk/README.md has every call of a client', async () => {
  const rows = (await Bun.file(README).text()).matchAll(/^\| `(\w+)` \| `([\w. ]+)` \|$/gm);
  const told = [...rows].flatMap(([, group, names = '']) =>
    names.split(' ').map((call) => `${group}.${call}`),
  );
  const client = new Vault({ baseUrl: 'https://vault.test', username: 'shop', password: 'p' });
  expect(told.toSorted()).toEqual(callNames(client).toSorted());
});
