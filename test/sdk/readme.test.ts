import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../server/http/listen/listen.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { webhookCall } from '../helpers/webhook.ts';
import { README_GIVEN, readmeProgram } from './readme.ts';

const WEBHOOK_SECRET = 'a secret of the page';
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
  const program = (await readmeProgram())
    .replaceAll('https://vault.example', `http://127.0.0.1:${server.port}`)
    .replaceAll('@cardvault/sdk', SDK);
  const given = JSON.stringify({
    username: name,
    password,
    passphrase: 'a passphrase of the page',
    webhookSecret: WEBHOOK_SECRET,
  });
  const file = join(folder, 'readme.ts');
  const shared = 'card, token, tokens, expiries, known, saved, url, shown, receive';
  await Bun.write(file, `const { ${README_GIVEN} } = ${given};\n${program}\nexport { ${shared} };\n`);
  const { card, token, tokens, expiries, known, saved, url, shown, receive } = await import(file);
  expect(card).toEqual({ card_number: '4111111111111111', expiry: '12/29' });
  expect(tokens).toEqual([token]);
  expect([...expiries]).toEqual([[token, '12/29']]);
  expect(known).toBe('exists');
  expect(saved).toEqual({ token: expect.any(String), user: 'customers', reference: url.split('/').at(-1) });
  expect(shown).toEqual({ card_number: '************4444', card_holder: 'Zoë' });
  expect(await (await receive(receivedCall())).text()).toBe('4711: 402');
  const forged = receivedCall();
  forged.headers.set('webhook-id', 'evt_2');
  const refusal: Response = await receive(forged);
  expect([refusal.status, await refusal.text()]).toEqual([400, 'signature_mismatch']);
});
