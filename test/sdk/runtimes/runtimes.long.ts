import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '../../../server/http/listen/listen.ts';
import { launchChromium } from '../../browser/chromium.ts';
import { installSdk } from '../../helpers/packages.ts';
import { openTestVault, type TestVault } from '../../helpers/vault.ts';
import { webhookCall } from '../../helpers/webhook.ts';
import { chunk, HEAD_CHUNKED, openRawPeer } from '../peer.ts';
import { PROGRAMS, writePrograms } from './programs.ts';
import { type Given, type work, worked } from './work.ts';

const PASSPHRASE = 'canary passphrase ü%';
const WEBHOOK_SECRET = 'canary-webhook-secret';
const START_MS_MAX = 60_000;
const RUN_MS_MAX = 60_000;

/** Sends one item and half of the next; the pause lets the first piece arrive by itself. */
function breakOff(socket: Bun.Socket): void {
  socket.write(HEAD_CHUNKED + chunk('{"shop":[{"token":"a","data":{}},{"tok'));
  socket.flush();
  setTimeout(() => socket.end(), 20);
}

let folder = '';
let vault: TestVault;
let server: ReturnType<typeof listen>;
let broken: ReturnType<typeof openRawPeer>;
let given: Given;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-sdk-'));
  [vault] = await Promise.all([openTestVault(), installSdk(folder)]);
  server = listen(vault.app, { hostname: '127.0.0.1', port: 0, idleTimeoutSeconds: 30 });
  broken = openRawPeer(...Object.keys(PROGRAMS).map(() => breakOff));
  const { name, password } = await vault.account({ password: 'canary-password' });
  given = {
    baseUrl: `http://127.0.0.1:${server.port}`,
    username: name,
    password,
    passphrase: PASSPHRASE,
    webhook: { ...webhookCall(WEBHOOK_SECRET), secret: WEBHOOK_SECRET },
    brokenUrl: broken.baseUrl,
  };
  await writePrograms(folder, given);
}, START_MS_MAX);

afterAll(async () => {
  broken?.close();
  await server?.stop(true);
  await vault?.close();
  await rm(folder, { recursive: true, force: true });
});

/** What programs print of clients and errors must hold nothing that they were given to keep. */
function expectNoSecrets(printed: string): void {
  expect(printed).toContain('key_exists');
  expect(printed).not.toMatch(/canary|Y2FuYXJ5|v[cr]s1_|4111111111111111/);
}

describe('the installed package', () => {
  test.each(Object.entries(PROGRAMS))(
    'works in %s, and prints no secret',
    async (name, runProgram) => {
      const { printed, result } = await runProgram(folder);
      expect(result).toEqual(worked(name));
      expectNoSecrets(printed);
    },
    RUN_MS_MAX,
  );

  test(
    'works in a page of Chromium as the file lies there, and prints no secret',
    async () => {
      const browser = await launchChromium();
      try {
        const page = await browser.newPage();
        const files = { '/sdk.js': 'node_modules/@cardvault/sdk/dist/index.js', '/work.js': 'work.js' };
        for (const [path, file] of Object.entries(files)) {
          await page.route(given.baseUrl + path, (route) => route.fulfill({ path: join(folder, file) }));
        }
        const body = `<!doctype html><script type="module">
          import * as sdk from '/sdk.js';
          import { work } from '/work.js';
          globalThis.start = (given) => work(sdk, given, 'chromium');
        </script>`;
        await page.route(`${given.baseUrl}/shop`, (route) =>
          route.fulfill({ contentType: 'text/html', body }),
        );
        const printed: string[] = [];
        page.on('console', async (message) => {
          printed.push(message.text());
        });
        await page.goto(`${given.baseUrl}/shop`);
        await page.waitForFunction('globalThis.start');
        const result = await page.evaluate(
          (all) => (globalThis as unknown as { start: (given: Given) => ReturnType<typeof work> }).start(all),
          { ...given, brokenUrl: undefined },
        );
        expect(result).toEqual(worked('chromium'));
        expectNoSecrets(printed.join('\n'));
      } finally {
        await browser.close();
      }
    },
    RUN_MS_MAX,
  );
});
