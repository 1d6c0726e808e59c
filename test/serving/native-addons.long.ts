/** Which files are mapped into the processes that hold keys: machine code of packages is not among them. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { requestTo } from '../helpers/proxy.ts';
import { OWNER } from '../helpers/server-process.ts';
import { startThirdParty, type ThirdParty, thirdPartyTrust } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { childrenOf, endAll, newFolder, type ServerProcess, startProcess } from './process.ts';

/** Of the checkout; the runtime itself may lie among the packages of the machine. */
const PACKAGES = join(import.meta.dir, '../../node_modules/');
const CARD = { card_number: '4111111111111111', cvv: '123' };

let party: ThirdParty;
let server: ServerProcess;
let url = '';
beforeAll(async () => {
  const folder = newFolder();
  party = await startThirdParty();
  writeFileSync(join(folder, 'ca.pem'), (await thirdPartyTrust()).authority.pem);
  server = startProcess({
    VAULT_PROCESSES: '2',
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_PROXY_ALLOW: '127.0.0.0/8',
    VAULT_PROXY_CA_FILE: join(folder, 'ca.pem'),
  });
  url = `http://127.0.0.1:${await server.ready}/v1`;
});
afterAll(async () => {
  await endAll();
  party.stop();
});

async function call(method: string, path: string, body?: unknown): Promise<Record<string, string>> {
  const headers = {
    Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
    'X-Vault-Passphrase': 'a passphrase of this test',
  };
  const reply = await fetch(`${url}${path}`, {
    method,
    headers,
    keepalive: false,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await reply.text();
  expect([path, reply.status, text]).toEqual([path, 200, expect.anything()]);
  return JSON.parse(text);
}

/** The files that a process has mapped, by their paths. */
function mappedBy(pid: number): readonly string[] {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8');
  return [...new Set(maps.split('\n').flatMap((line) => / (\/.*)$/.exec(line)?.[1] ?? []))];
}

test('no native addon is mapped in any process of a server that has stored, decrypted and sent', async () => {
  await call('POST', '/key', { user: 'u', passphrase: 'a passphrase of this test' });
  const { token } = await call('POST', '/vault?user=u', CARD);
  expect(await call('GET', `/vault?user=u&token=${token}`)).toMatchObject({ card_number: CARD.card_number });
  party.script('/target', 200);
  const receiver = createReceiver(party);
  const request = requestTo(party.url('/target'), { body: '{"pan":"{{card_number}}"}' });
  const { id } = await call('POST', `/proxy/post?user=u&token=${token}`, {
    request,
    webhook: receiver.webhook,
  });
  expect((await receiver.next()).id).toBe(id);
  expect((await party.call('/target')).text).toContain(CARD.card_number);

  const processes = childrenOf(server.pid, /main\.ts/);
  expect(processes).toHaveLength(2);
  for (const pid of [server.pid, ...processes]) {
    const files = mappedBy(pid);
    // The runtime is there, or the reading proves nothing.
    expect(files.some((path) => /\/bun[^/]*$/.test(path))).toBe(true);
    expect(files.filter((path) => path.endsWith('.node') || path.startsWith(PACKAGES))).toEqual([]);
  }
});

test('an addon that lies there all the same is not loaded by any thread', async () => {
  const folder = newFolder();
  const addon = join(folder, 'addon.node');
  // An ELF file is enough to see who refuses: the runtime's own loader has another message.
  writeFileSync(addon, readFileSync(process.execPath).subarray(0, 4096));
  const script = join(folder, 'load.ts');
  const guard = join(import.meta.dir, '../../server/core/native-addons.ts');
  const load = `try { require(${JSON.stringify(addon)}) } catch (error) { console.log(error.message) }`;
  const thread = `import { Worker } from 'node:worker_threads';
import ${JSON.stringify(guard)};
${load}
new Worker(${JSON.stringify(`${script}.thread.ts`)});`;
  writeFileSync(script, thread);
  writeFileSync(`${script}.thread.ts`, `import ${JSON.stringify(guard)};\n${load}`);
  const child = Bun.spawnSync([process.execPath, script]);
  const refused = 'Native addons are not loaded beside keys.\n';
  expect(child.stdout.toString()).toBe(refused.repeat(2));
});
