import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../server/listen.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { README_GIVEN, readmeProgram } from './readme.ts';

const SDK = join(import.meta.dir, '../../sdk/index.ts');

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
  const given = JSON.stringify({ username: name, password, passphrase: 'a passphrase of the page' });
  const file = join(folder, 'readme.ts');
  await Bun.write(
    file,
    `const { ${README_GIVEN} } = ${given};\n${program}\nexport { card, saved, unique_id, shown, holders, stored };\n`,
  );
  const { card, saved, unique_id, shown, holders, stored } = await import(file);
  expect(card).toEqual({ card_number: '4111111111111111' });
  expect(saved).toEqual({ token: expect.any(String), user: 'customers', reference: unique_id });
  expect(shown).toEqual({ card_number: '************4444', card_holder: 'Zoë' });
  expect(holders).toEqual(['Zoë']);
  expect(stored).toMatchObject({ expiry_year: '2031', expiry_year_short: '31' });
});
