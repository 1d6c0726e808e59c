/** Runs what the guides tell operators to type beside the blocks that a page runs: each command against a live server. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { portOf, type Server, type Settings, spawnServer } from '../helpers/server-process.ts';
import { ALL_BLOCKS } from './code-blocks.ts';

const ROOT = join(import.meta.dir, '..', '..');
const CLI = join(ROOT, 'server/cli.ts');
const MS_MAX = 120_000;
const PASSPHRASE = 'a passphrase of this test';
const CARD = { card_number: '4111111111111111' };
const PASSWORDS: Record<string, string> = { admin: 'a password for this place only' };

const LINES = ALL_BLOCKS.filter(({ page, info }) => page.startsWith('docs/guides/') && info === 'console')
  .filter(({ page }) => !page.endsWith('/sandbox.md'))
  .flatMap(({ page, code }) =>
    code
      .trim()
      .split('\n')
      .map((line) => ({ page, line: line.replace(/\s+#.*$/, '') })),
  )
  // Lines for a cluster have a check of their own.
  .filter(({ line }) => !/^(?:kubectl|helm) /.test(line));

const folder = mkdtempSync(join(tmpdir(), 'cv-typed-'));
const printed: string[] = [];
/** One place for a server: at most one of them runs there at a time. */
function newPlace() {
  let server: Server | undefined;
  return {
    url: '',
    async start(more: Settings = {}): Promise<void> {
      server = spawnServer({ ...settings, ...more }, folder);
      this.url = `http://127.0.0.1:${await portOf(server, printed)}`;
    },
    /** Asks the server to end; gives its exit code. */
    async stop(): Promise<number | undefined> {
      server?.kill('SIGTERM');
      return server?.exited;
    },
  };
}

let settings: Settings = {};
let token = '';
const main = newPlace();
const rotated = newPlace();

/** Runs a line in the shell of an operator, whose `bun run vault` is the one of the checkout. */
async function type(line: string, more: Settings = {}) {
  const shell = Bun.spawn(['sh', '-eu', '-c', line], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env['PATH']}`,
      ...settings,
      ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err] = await Promise.all([shell.stdout.text(), shell.stderr.text()]);
  return { code: await shell.exited, out, err };
}

function send(name: string, path: string, body?: object, { url } = main): Promise<Response> {
  const headers = {
    Authorization: `Basic ${btoa(`${name}:${PASSWORDS[name] ?? ''}`)}`,
    'X-Vault-Passphrase': PASSPHRASE,
  };
  const method = body === undefined ? 'GET' : 'POST';
  return fetch(`${url}/v1${path}`, {
    method,
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
}

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'));
  const shim = `#!/bin/sh\n[ "$1 $2" = 'run vault' ] || exit 9\nshift 2\nexec '${process.execPath}' '${CLI}' "$@"\n`;
  writeFileSync(join(folder, 'bin', 'bun'), shim, { mode: 0o755 });
  // Whoever has the secret key gets what the file holds.
  const gpg =
    "#!/bin/sh\n[ \"$1 $2\" = '--decrypt cards.csv.gpg' ] && printf 'number\\n4111111111111111\\n'\n";
  writeFileSync(join(folder, 'bin', 'gpg'), gpg, { mode: 0o755 });
  writeFileSync(join(folder, 'passphrase'), PASSPHRASE);
  writeFileSync(join(folder, 'pci-dss.pdf'), '%PDF-1.7\n%%EOF\n');
  settings = {
    VAULT_DATA_DIR: join(folder, 'data'),
    VAULT_BOOTSTRAP_USER: 'admin',
    VAULT_BOOTSTRAP_PASSWORD: PASSWORDS['admin'],
    VAULT_BOOTSTRAP_UNMASKED: undefined,
    VAULT_REDIS_BIN: process.env['VAULT_REDIS_BIN'],
  };
  await main.start();
  const { out, err } = await type('bun run vault account create shop --json');
  expect(err).toBe('');
  PASSWORDS['shop'] = JSON.parse(out).password;
  await send('admin', '/key', { user: 'u', passphrase: PASSPHRASE });
  token = Object(await (await send('admin', '/vault?user=u', CARD)).json()).token;
  await send('shop', '/key', { user: 'u', passphrase: PASSPHRASE });
  // What it has printed, with the checkpoints of its end, is the server.log of the guide.
  expect(await main.stop()).toBe(0);
  writeFileSync(join(folder, 'server.log'), printed.join(''));
  expect(printed.join('')).toContain('"event":"audit_checkpoint"');
  await main.start();
  await send('admin', '/key', { user: 'arriving', passphrase: PASSPHRASE });
  await send('admin', '/key', { user: 'patrons', passphrase: PASSPHRASE });
  await send('admin', '/vault?user=patrons&reference=patron-7', CARD);
}, MS_MAX);
afterAll(async () => {
  await Promise.all([main.stop(), rotated.stop()]);
  rmSync(folder, { recursive: true, force: true });
});

function entriesOf(text: string): readonly { readonly action: string }[] {
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** What each line comes to; a line without an outcome here fails, and an outcome without a line. */
const OUTCOMES: Readonly<Record<string, (out: string) => unknown>> = {
  'bun run vault audit export --account shop --after 2026-01-01T00:00:00Z --to shop.ndjson': () =>
    expect(
      entriesOf(readFileSync(join(folder, 'shop.ndjson'), 'utf8')).map(({ action }) => action),
    ).toContain('key.create'),
  'bun run vault audit export': (out) =>
    expect(entriesOf(out).map(({ action }) => action)).toContain('server.start'),
  'bun run vault audit stream > before.ndjson': () =>
    expect(
      entriesOf(readFileSync(join(folder, 'before.ndjson'), 'utf8')).map(({ action }) => action),
    ).toContain('encrypt'),
  'bun run vault audit stream --account shop --after 2026-01-01T00:00:00Z': (out) =>
    expect(entriesOf(out).map(({ action }) => action)).toContain('key.create'),
  'bun run vault audit verify --checkpoints server.log': (out) => expect(out).toMatch(/checkpoint/i),
  'bun run vault audit key': (out) => expect(out).toContain('-----BEGIN PUBLIC KEY-----'),
  'bun run vault rotate-root': async (out) => {
    expect(out).toMatch(/root/i);
    expect((await send('admin', `/vault?user=u&token=${token}`)).status).toBe(200);
  },
  'bun run vault audit key > audit-key.pem': () =>
    expect(readFileSync(join(folder, 'audit-key.pem'), 'utf8')).toContain('-----BEGIN PUBLIC KEY-----'),
  'bun run vault audit verify --signing-key audit-key.pem': (out) => expect(out).toMatch(/checkpoint/i),
  'bun run vault erase --account admin --key patrons --reference patron-7 --yes': async (out) => {
    expect(out).toContain('Deleted 1 item');
    expect(await (await send('admin', '/vault?user=patrons')).json()).toEqual({ patrons: [] });
  },
  'gpg --decrypt cards.csv.gpg | bun run vault import - --format csv --state cards --account admin --key arriving --passphrase-file passphrase':
    (out) => {
      expect(out).toBe('Imported 1 item.\n');
      expect(existsSync(join(folder, 'cards.import'))).toBe(true);
    },
  'bun run vault certificate load pci-dss.pdf': (out) => expect(out).not.toBe(''),
  'bun run vault account set shop --paying': async () => {
    const reply = await send('shop', '/certificate');
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining('%PDF-1.7')]);
  },
  'bun run vault account set admin --unmasked': async () =>
    expect(await (await send('admin', `/vault?user=u&token=${token}`)).json()).toEqual(CARD),
  'VAULT_CONSOLE_URL=http://localhost:8080 bun run start': async () => {
    const origins = await (await fetch(`${main.url}/console/origins`)).json();
    expect(origins).toMatchObject({ sign_in: { passkey: true } });
  },
  'VAULT_RATE_SOURCE=600 VAULT_RATE_ACCOUNT=60000 bun start': async () => {
    const statuses = await Promise.all(Array.from({ length: 1_500 }, () => send('nobody', '/whoami')));
    expect(new Set(statuses.map(({ status }) => status))).toContain(429);
  },
};

test('every line has its outcome here, and every outcome its line', () => {
  expect(LINES.map(({ line }) => line).sort()).toEqual(Object.keys(OUTCOMES).sort());
});

/** Waits for the reports of servers, most of its time; so it runs beside the guide to the master key. */
const WAITING = 'bun run vault rotate-root';
const TYPED = LINES.filter(({ line }) => line.includes('bun run vault '));

async function typedWell({ line }: { readonly line: string }): Promise<void> {
  const { code, out, err } = await type(line);
  expect([code, err]).toEqual([0, expect.anything()]);
  await OUTCOMES[line]?.(out);
}

describe('what the guides have operators type', () => {
  test.each(TYPED.filter(({ line }) => line !== WAITING))('$page: $line', typedWell, MS_MAX);

  test.concurrent.each(TYPED.filter(({ line }) => line === WAITING))('$page: $line', typedWell, MS_MAX);
});

describe('the guide to the master key', () => {
  const page = readFileSync(join(ROOT, 'docs/guides/master-key.md'), 'utf8');
  const steps = [...page.matchAll(/^\| (\d) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
    ([, , ring = '', action = '']) => ({
      ring: /`([^`]+)`/.exec(ring)?.[1],
      command: /`(bun run vault [^`]+)`/.exec(action)?.[1],
    }),
  );

  test.concurrent(
    'leads from one key to another, under which alone everything is read',
    async () => {
      expect(steps).toHaveLength(4);
      const newKey = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64');
      const keys: Readonly<Record<string, string>> = { old: newKey(), new: newKey() };
      const ringOf = (text: string): string =>
        text.replaceAll(/(\w+):…/g, (_, id: string) => `${id}:${keys[id]}`);
      const data = { VAULT_DATA_DIR: join(folder, 'rotated') };
      let ring = { ...data, VAULT_MASTER_KEY: `old:${keys['old']}` };
      await rotated.start(ring);
      await send('admin', '/key', { user: 'u', passphrase: PASSPHRASE }, rotated);
      const stored = await send('admin', '/vault?user=u', CARD, rotated);
      const kept: { token: string } = Object(await stored.json());
      for (const step of steps) {
        if (step.ring !== undefined) {
          expect(await rotated.stop()).toBe(0);
          ring = { ...data, VAULT_MASTER_KEY: ringOf(step.ring) };
          await rotated.start(ring);
        }
        if (step.command !== undefined) {
          const { code, out, err } = await type(`${step.command} --json`, ring);
          expect([code, err]).toEqual([0, expect.anything()]);
          expect(JSON.parse(out)).toMatchObject({ removable: ['old'] });
        }
        const reply = await send('admin', `/vault?user=u&token=${kept.token}`, undefined, rotated);
        expect([step, reply.status]).toEqual([step, 200]);
      }
      expect(ring.VAULT_MASTER_KEY).toBe(`new:${keys['new']}`);
    },
    MS_MAX,
  );
});

// Last, for its server has limits.
describe('what the guides have operators start', () => {
  test.each(LINES.filter(({ line }) => / bun (?:run )?start$/.test(line)))(
    '$page: $line',
    async ({ line }) => {
      const given = [...line.matchAll(/(VAULT_\w+)=(\S+)/g)].map(([, name = '', value]) => [name, value]);
      expect(await main.stop()).toBe(0);
      await main.start(Object.fromEntries(given));
      await OUTCOMES[line]?.('');
      expect(await main.stop()).toBe(0);
    },
    MS_MAX,
  );
});
