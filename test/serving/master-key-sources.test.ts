/** Servers whose master key is elsewhere: each source of the guide is used, rotated and broken. */
import { afterAll, describe, expect, test } from 'bun:test';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createReader, PATH_WITH_AGE, type Reader } from '../helpers/age.ts';
import { keyText, writePrivate } from '../helpers/config.ts';
import { createToken } from '../helpers/pkcs11.ts';
import { OWNER, runVaultCommand, type Settings } from '../helpers/server-process.ts';
import { endAll, newFolder, type ServerProcess, startProcess } from './process.ts';

const TEST_MS_MAX = 60_000;
const EXAMPLES = join(import.meta.dir, '../../deploy/examples');
const OLD = keyText(5);
const NEW = keyText(6);
const HEADERS = {
  Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
  'X-Vault-Passphrase': 'a passphrase of this test',
};
const CARD = { card_number: '4111111111111111' };
const readers: Reader[] = [];

afterAll(async () => {
  await endAll();
  for (const reader of readers) {
    reader.close();
  }
});

/** Where a ring is kept. */
interface Source {
  readonly settings: Settings;
  /** Replaces the ring that the next start reads. */
  readonly keep: (ring: string) => Promise<void>;
  /** Makes it impossible to open. */
  readonly spoil: () => void;
  /** What only the operator knows, and no log may have. */
  readonly secrets: readonly string[];
}

const SOURCES: Readonly<Record<string, (folder: string) => Promise<Source>>> = {
  async age(folder) {
    const reader = await createReader();
    readers.push(reader);
    const ring = join(folder, 'ring.age');
    const command = `${EXAMPLES}/master-key-age.sh ${ring} ${reader.identity}`;
    return {
      settings: { PATH: PATH_WITH_AGE, VAULT_MASTER_KEY_COMMAND: command },
      keep: (text) => reader.seal(text, ring),
      spoil: () => rmSync(reader.identity),
      secrets: [readFileSync(reader.identity, 'utf8').split('\n').at(-2) ?? ''],
    };
  },
  async 'a hardware module'(folder) {
    const token = await createToken(folder);
    const ring = join(folder, 'ring.enc');
    const pin = writePrivate(join(folder, 'pin'), `${token.pin}\n`);
    const args = [ring, token.module, token.label, token.key, pin].join(' ');
    const command = `${EXAMPLES}/master-key-pkcs11.sh ${args}`;
    return {
      settings: { ...token.environment, VAULT_MASTER_KEY_COMMAND: command },
      keep: (text) => token.seal(text, ring),
      spoil: () => writeFileSync(pin, '00000000\n'),
      secrets: [token.pin],
    };
  },
  'a credential of systemd': async (folder) => {
    const credentials = join(folder, 'credentials');
    mkdirSync(credentials);
    const file = join(credentials, 'master-key');
    return {
      settings: { VAULT_MASTER_KEY_FILE: file },
      keep: async (text) => {
        rmSync(file, { force: true });
        writePrivate(file, text, 0o400);
      },
      spoil: () => chmodSync(file, 0o444),
      secrets: [],
    };
  },
};

describe.each(Object.entries(SOURCES))('%s', (_, open) => {
  test(
    'gives the ring, changes it, and stops the start when it is broken',
    async () => {
      const folder = newFolder();
      const source = await open(folder);
      const settings: Settings = { VAULT_DATA_DIR: join(folder, 'data'), ...source.settings };
      const printed: string[] = [];
      let server: ServerProcess | undefined;
      const restart = async (ring: string): Promise<string> => {
        server?.signal('SIGTERM');
        await server?.exited;
        await source.keep(ring);
        server = startProcess(settings);
        const url = `http://127.0.0.1:${await server.ready}/v1`;
        printed.push(readFileSync(`/proc/${server.pid}/cmdline`, 'latin1'));
        return url;
      };
      const send = async (url: string, body?: object) => {
        const method = body === undefined ? 'GET' : 'POST';
        const reply = await fetch(url, {
          ...{ method, headers: HEADERS, keepalive: false },
          body: body === undefined ? null : JSON.stringify(body),
        });
        return (await reply.json()) as { token: string };
      };
      const first = await restart(`old:${OLD}`);
      await send(`${first}/key`, { user: 'u', passphrase: HEADERS['X-Vault-Passphrase'] });
      const { token } = await send(`${first}/vault?user=u`, CARD);
      const second = await restart(`new:${NEW},old:${OLD}`);
      expect(await send(`${second}/vault?user=u&token=${token}`)).toEqual(CARD as never);
      const rotated = await runVaultCommand(['rotate-master', '--quiet', '--json'], settings, folder);
      expect(JSON.parse(rotated.out)).toMatchObject({ removable: ['old'] });
      const third = await restart(`new:${NEW}`);
      expect(await send(`${third}/vault?user=u&token=${token}`)).toEqual(CARD as never);
      printed.push(server?.printed() ?? '', rotated.err);
      server?.signal('SIGTERM');
      await server?.exited;
      source.spoil();
      const broken = startProcess(settings);
      await expect(broken.ready).rejects.toThrow(/VAULT_MASTER_KEY_(?:COMMAND|FILE)/);
      printed.push(broken.printed());
      const kept = readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
      for (const secret of [OLD, NEW, ...source.secrets]) {
        expect([...printed, ...kept].filter((text) => text.includes(secret))).toEqual([]);
      }
    },
    TEST_MS_MAX,
  );
});
