/** What something that ends TLS before the vault sees of captures, and what the vault's own log says. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createServer, type Server } from 'node:http';
import { captureClient, type NewCaptureEndpoint, Vault } from '../../sdk/index.ts';
import { OWNER } from '../helpers/server-process.ts';
import { endAll, newFolder, type ServerProcess, startProcess } from './process.ts';

const PASSPHRASE = 'a passphrase for the recorded vault';
const SEALED_NUMBER = '5555555555554444';
const OPEN_NUMBER = '4111111111111111';

let server: ServerProcess;
let proxy: Server;
let vault: Vault;
let proxyUrl = '';
/** Requests and replies as they passed, heads and bodies. */
const recorded: string[] = [];

/** Passes HTTP on to a port, and keeps all of it. */
function recordTo(port: number): Server {
  return createServer(async (request, response) => {
    const chunks = await Array.fromAsync(request as AsyncIterable<Buffer>);
    const body = Buffer.concat(chunks);
    const { method = '', url = '', rawHeaders } = request;
    recorded.push([method, url, ...rawHeaders, body.toString('latin1')].join(' '));
    const reply = await fetch(`http://127.0.0.1:${port}${url}`, {
      method,
      headers: Object.entries(request.headers).flatMap(([name, value]) =>
        name === 'host' || name === 'connection' ? [] : [[name, String(value)] as [string, string]],
      ),
      body: body.length === 0 ? null : body,
    });
    const text = await reply.text();
    recorded.push([reply.status, JSON.stringify([...reply.headers]), text].join(' '));
    response.writeHead(reply.status, { 'Content-Type': reply.headers.get('content-type') ?? '' }).end(text);
  });
}

beforeAll(async () => {
  server = startProcess({ VAULT_DATA_DIR: newFolder() });
  const port = await server.ready;
  vault = new Vault({
    baseUrl: `http://127.0.0.1:${port}`,
    ...{ username: OWNER.name, password: OWNER.password, passphrase: PASSPHRASE },
  });
  await vault.keys.create({ user: 'u', passphrase: PASSPHRASE });
  proxy = recordTo(port);
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, '127.0.0.1', resolve);
  await promise;
  const address = proxy.address();
  proxyUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
});
afterAll(async () => {
  proxy.closeAllConnections();
  proxy.close();
  await endAll();
});

/** The forms in which a number could be written down: as it is, in hex, and in base64 at any alignment. */
function formsOf(number: string): readonly string[] {
  const bases = [0, 1, 2].map((before) => {
    const text = Buffer.from('\0'.repeat(before) + number).toString('base64url');
    // The characters at both ends depend on what is beside the number.
    return text.slice(before === 0 ? 0 : 4, -4);
  });
  return [number, Buffer.from(number).toString('hex'), number.replaceAll(/(\d{4})(?=\d)/g, '$1 '), ...bases];
}
function seenIn(text: string, number: string): readonly string[] {
  return formsOf(number).filter((form) => text.includes(form));
}
async function submit({ url, secret }: NewCaptureEndpoint, seal: 'require' | 'never', number: string) {
  const client = captureClient({ url: `${proxyUrl}${url}`, secret, seal });
  return client.submit({ data: { card_number: number, cvv: '737', card_holder: 'Ada Lovelace' } });
}

test('a proxy sees the number of an open capture, and none of a sealed one; the log none at all', async () => {
  const made = await vault.capture.create({ user: 'u' });
  await submit(made, 'never', OPEN_NUMBER);
  const { token, reference } = await submit(made, 'require', SEALED_NUMBER);
  expect(await vault.vault.decrypt({ user: 'u', token, reference })).toMatchObject({
    card_number: SEALED_NUMBER,
  });
  const all = recorded.join('\n');
  // It does see what it is shown.
  expect(seenIn(all, OPEN_NUMBER)).toContain(OPEN_NUMBER);
  expect(seenIn(all, SEALED_NUMBER)).toEqual([]);
  const sealed = recorded.filter((text) => text.includes('vnd.cardvault.sealed+json')).join('\n');
  expect(sealed).toStartWith(`POST ${made.url} `);
  expect(sealed).not.toContain('Lovelace');
  for (const number of [OPEN_NUMBER, SEALED_NUMBER]) {
    expect(seenIn(server.printed(), number)).toEqual([]);
  }
});
