/**
 * A proxy in front of the vault that records every byte: no digit of a card is in a sealed reading. `VAULT_TEST_TRANSCRIPT=1` prints
 * what it has recorded.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, createServer, type Server } from 'node:net';
import { retrieveClient } from '../../../sdk/index.ts';
import { type MortalVault, newMortalVault } from '../../durability/server.ts';
import { createRetrieve, type MadeEndpoint } from '../../helpers/endpoints.ts';
import { thirdPartyTrust } from '../../helpers/third-party.ts';

const NUMBERS = ['4111111111111111', '5555555555554444', '378282246310005'];
const HOLDER = 'Ada Lovelace';

type Read = (client: ReturnType<typeof retrieveClient>) => Promise<unknown>;

let vault: MortalVault;
let proxy: Server;
let desk: MadeEndpoint;
let token: string;
let recorded: { readonly from: 'reader' | 'vault'; readonly bytes: Buffer }[] = [];
let vaultPort = 0;

beforeAll(async () => {
  vault = newMortalVault((await thirdPartyTrust()).authority.pem);
  await vault.start();
  vaultPort = Number(/:(\d+)\/v1/.exec(vault.printed())?.[1]);
  await vault.client.key('u');
  const tokens = await Promise.all(
    NUMBERS.map((card_number, n) =>
      vault.client.store('u', { card_number, card_holder: HOLDER }, { reference: `r${n}` }),
    ),
  );
  token = tokens[0] ?? '';
  desk = await createRetrieve(vault.client, 'u', {});
  proxy = createServer((reader) => {
    const server = connect(vaultPort, '127.0.0.1');
    reader.on('data', (bytes: Buffer) => recorded.push({ from: 'reader', bytes }));
    server.on('data', (bytes: Buffer) => recorded.push({ from: 'vault', bytes }));
    reader.pipe(server).pipe(reader);
    reader.on('error', () => server.destroy());
    server.on('error', () => reader.destroy());
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => proxy.once('listening', resolve));
}, 60_000);
afterAll(async () => {
  proxy.close();
  await vault.remove();
});

/** What is read through the proxy, and all that it has recorded: requests and replies as text, and without their separators. */
async function recording(seal: boolean, read: Read) {
  recorded = [];
  const address = proxy.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const url = `http://127.0.0.1:${port}${desk.url}`;
  const result = JSON.stringify(await read(retrieveClient({ url, secret: desk.secret, seal })));
  const all = Buffer.concat(recorded.map(({ bytes }) => bytes));
  if (process.env['VAULT_TEST_TRANSCRIPT'] === '1') {
    for (const { from, bytes } of recorded) {
      process.stdout.write(`--- ${from}\n${bytes.toString('latin1')}\n`);
    }
  }
  return { result, wire: `${all.toString('latin1')} ${all.toString('latin1').replaceAll(/[\s.-]/g, '')}` };
}

const READINGS: readonly (readonly [string, Read, readonly number[]])[] = [
  ['an item', (client) => client.decrypt({ token, reference: 'r0' }), [0]],
  ['a tree', (client) => Array.fromAsync(client.decryptAll()), [0, 1, 2]],
  ['a tree in pages', (client) => Array.fromAsync(client.decryptAll({ limit: 1 })), [0, 1, 2]],
];

describe.each(READINGS)('%s', (_name, read, shown) => {
  test('that is sealed shows the recorder no digit of a card', async () => {
    const { result, wire } = await recording(true, read);
    for (const n of shown) {
      expect(result).toContain(NUMBERS[n] ?? '');
    }
    expect(wire).toContain('application/vnd.cardvault.sealed+json');
    for (const number of NUMBERS) {
      for (let at = 0; at + 8 <= number.length; at++) {
        expect(wire).not.toContain(number.slice(at, at + 8));
      }
    }
    expect(wire).not.toContain('Lovelace');
  });

  test('that is not sealed is seen by it', async () => {
    const { wire } = await recording(false, read);
    expect(wire).toContain('Lovelace');
  });
});
