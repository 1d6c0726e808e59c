/** The drill restores the newest backup beside a running vault, says what it found, leaves nothing, and touches nothing. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Vault } from '../../sdk/index.ts';
import { type GuideServer, startServer } from '../pages/server.ts';

const ROOT = join(import.meta.dir, '..', '..');
const MS_MAX = 120_000;

const place = mkdtempSync(join(tmpdir(), 'cv-drill-'));
const [backups, temporary] = ['backups', 'tmp'].map((name) => join(place, name)) as [string, string];
let server: GuideServer;
let client: Vault;
/** Stands for whatever the settings of the running vault name; nobody may ask it. */
let asked = 0;
const elsewhere = Bun.listen({
  hostname: '127.0.0.1',
  port: 0,
  socket: {
    open: () => {
      asked += 1;
    },
    data: () => undefined,
  },
});

beforeAll(async () => {
  mkdirSync(backups);
  mkdirSync(temporary);
  server = await startServer(join(place, 'data'), {});
  const passphrase = 'correct-horse-battery-staple';
  client = new Vault({ baseUrl: server.url, username: 'admin', password: server.password, passphrase });
  await client.keys.create({ user: 'u', passphrase });
  await client.vault.store({ user: 'u', data: { card_number: '4111111111111111' } });
  run(['run', '--silent', 'vault', 'backup', join(backups, 'monday')]);
}, MS_MAX);
afterAll(async () => {
  await server?.stop();
  elsewhere.stop(true);
  rmSync(place, { recursive: true, force: true });
});

function run(args: readonly string[], settings: Readonly<Record<string, string>> = {}) {
  const { exitCode, stdout, stderr } = Bun.spawnSync([process.execPath, ...args], {
    cwd: ROOT,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
      HOME: process.env['HOME'],
      TMPDIR: temporary,
      VAULT_DATA_DIR: server.dataDir,
      ...settings,
    },
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}
function drill(settings?: Readonly<Record<string, string>>, folder = backups) {
  return run(['run', '--silent', 'drill', folder], settings);
}

const WHOLE =
  /^monday of \d{4}-\S+Z was restored and is whole, in \d+ s\. The copy is removed\.\nAccounts: 1, keys: 1, items: 1\.\n$/;

describe('the drill', () => {
  test(
    'restores the newest backup and verifies it, beside the running vault',
    async () => {
      writeFileSync(join(backups, 'sunday'), 'an old file');
      utimesSync(join(backups, 'sunday'), 1, 1);
      writeFileSync(join(backups, 'tuesday.part-1'), 'not yet complete');
      // Reading a log is in it.
      const log = async () =>
        (await client.audit.list({ limit: 10 })).data.filter(({ action }) => action !== 'audit.read');
      const before = await log();
      const { code, out, err } = drill();
      expect([code, err]).toEqual([0, '']);
      expect(out).toMatch(WHOLE);
      expect(readdirSync(temporary)).toEqual([]);
      expect(await log()).toEqual(before);
      expect((await client.vault.list({ user: 'u' })).data['u']).toHaveLength(1);
    },
    MS_MAX,
  );

  test(
    'knows of the running vault no more than its environment and its master key',
    () => {
      const settings = {
        VAULT_REDIS_URL: `redis://127.0.0.1:${elsewhere.port}`,
        VAULT_AUDIT_SINK: `tcp://127.0.0.1:${elsewhere.port}`,
        VAULT_PORT: String(elsewhere.port),
        VAULT_MASTER_KEY: readFileSync(join(server.dataDir, 'master-key'), 'utf8').trim(),
        VAULT_DATA_DIR: join(place, 'nowhere'),
      };
      expect(drill(settings)).toEqual({ code: 0, out: expect.stringMatching(WHOLE), err: '' });
      expect([asked, readdirSync(place).sort()]).toEqual([0, ['backups', 'data', 'tmp']]);
    },
    MS_MAX,
  );

  test(
    'fails for a backup that is damaged, of another vault, or not there',
    () => {
      const damaged = join(place, 'damaged');
      mkdirSync(damaged);
      copyFileSync(join(backups, 'monday'), join(damaged, 'monday'));
      const bytes = readFileSync(join(damaged, 'monday'));
      bytes[bytes.length - 40] = (bytes.at(-40) ?? 0) ^ 1;
      writeFileSync(join(damaged, 'monday'), bytes);
      const other = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64');
      const empty = join(place, 'tmp');
      for (const failed of [drill({}, damaged), drill({ VAULT_MASTER_KEY: other }), drill({}, empty)]) {
        expect([failed.code, failed.out, failed.err.trim() !== '']).toEqual([1, '', true]);
      }
      expect(drill({}, empty).err).toBe(`There is no backup in ${empty}.\n`);
      expect(readdirSync(temporary)).toEqual([]);
    },
    MS_MAX,
  );
});
