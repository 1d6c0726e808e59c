/** Follows the page of the payment service to try with: certificate, service, a vault with the settings of the page, a charge. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../helpers/free-port.ts';
import { ALL_BLOCKS } from './code-blocks.ts';
import { inWordsOf } from './guide.ts';
import { type GuideServer, startServer } from './server.ts';
import { settingsOf } from './start-settings.ts';

const MS_MAX = 120_000;
const BLOCKS = ALL_BLOCKS.filter(({ page }) => page === 'docs/guides/sandbox.md');
function codeOf(info: string): string {
  return BLOCKS.find((block) => block.info === info)?.code ?? '';
}
const [certificate, charge] = BLOCKS.filter(({ info }) => info === 'sh').map(({ code }) => code);

const folder = mkdtempSync(join(tmpdir(), 'cv-sandbox-'));
const port = freePort();
const received: { readonly url: string; readonly id: string | null; readonly body: string }[] = [];
/** Resolves with the first call of the receiver. */
const arrived = Promise.withResolvers<void>();
const receiver = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: async (request) => {
    const { pathname } = new URL(request.url);
    received.push({ url: pathname, id: request.headers.get('webhook-id'), body: await request.text() });
    arrived.resolve();
    return new Response();
  },
});
let server: GuideServer;
let sandbox: Bun.Subprocess<'ignore', 'pipe', 'inherit'>;
let said: AsyncIterator<string>;

function here(text: string): string {
  return text
    .replaceAll('http://127.0.0.1:8080', server?.url)
    .replaceAll('the-password-that-was-printed', server?.password)
    .replaceAll('8443', String(port))
    .replaceAll('3000', String(receiver.port));
}

function shell(code = ''): string {
  const done = Bun.spawnSync(['sh', '-eu', '-c', here(code)], { cwd: folder });
  expect(done.stderr.toString()).toBe('');
  return done.stdout.toString();
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let text = '';
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    yield* lines;
  }
}

async function isUp(): Promise<void> {
  const listening = await Bun.connect({
    hostname: 'localhost',
    port,
    socket: { data: () => undefined },
  }).catch(() => undefined);
  if (listening === undefined) {
    await Bun.sleep(50);
    return isUp();
  }
  listening.end();
}

beforeAll(async () => {
  shell(certificate);
  writeFileSync(join(folder, 'sandbox.mjs'), here(codeOf('js sandbox.mjs')));
  sandbox = Bun.spawn(['node', 'sandbox.mjs'], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  said = linesOf(sandbox.stdout);
  server = await startServer(join(folder, 'data'), settingsOf(codeOf('console'), folder));
  await isUp();
}, MS_MAX);
afterAll(async () => {
  sandbox?.kill();
  await server?.stop();
  await receiver.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

test(
  'the charge arrives with the whole number',
  async () => {
    const [shown, printed] = [codeOf('text'), codeOf('text sandbox.mjs')];
    expect(inWordsOf(shown, shell(charge))).toBe(shown);
    expect(inWordsOf(printed, (await said.next()).value)).toBe(printed);
  },
  MS_MAX,
);

async function payAt(order: string, amount: number, number = '4111111111111111'): Promise<number | string> {
  const headers = { 'Idempotency-Key': order };
  const body = JSON.stringify({ order, amount, card: { number, expiry: '12/40' } });
  const tls = { ca: await Bun.file(join(folder, 'sandbox.pem')).text() };
  return fetch(`https://localhost:${port}/payments`, { method: 'POST', headers, body, tls }).then(
    ({ status }) => status,
    () => 'lost',
  );
}

test('it declines, is busy and loses answers where it is asked to, and who asks again pays once', async () => {
  expect(await payAt('order-2', 1000, '4000000000000002')).toBe(402);
  expect([
    await payAt('order-3', 50300),
    await payAt('order-3', 50300),
    await payAt('order-3', 50300),
  ]).toEqual([503, 503, 201]);
  expect([
    await payAt('order-4', 50400),
    await payAt('order-4', 50400),
    await payAt('order-4', 50400),
  ]).toEqual(['lost', 'lost', 201]);
  const made = shell(`curl -sS --cacert sandbox.pem https://localhost:8443/payments`);
  expect(JSON.parse(made)).toEqual([
    { id: 'pay_1', order: 'order-1', status: 'paid' },
    { id: 'pay_2', order: 'order-2', status: 'declined' },
    { id: 'pay_3', order: 'order-3', status: 'paid' },
    { id: 'pay_4', order: 'order-4', status: 'paid' },
  ]);
});

test(
  'a webhook goes on to the receiver as it came',
  async () => {
    const webhook =
      '"webhook": { "url": "https://localhost:8443/webhooks", "metadata": { "order": "order-1" } },';
    const later = (charge ?? '')
      .replace('"synchronous": true,', webhook)
      .replace(/ \| grep -o '"status_code.*$/m, '');
    const { id } = JSON.parse(shell(later).trim());
    await arrived.promise;
    expect(received).toEqual([{ url: '/webhooks', id, body: expect.stringContaining('"order":"order-1"') }]);
  },
  MS_MAX,
);
