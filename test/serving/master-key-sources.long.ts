/** Servers whose master key is elsewhere: the commands of the guide are pasted, and each source is used, changed and broken. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { PATH_WITH_AGE } from '../helpers/age.ts';
import { keyText, writePrivate } from '../helpers/config.ts';
import { findModule, MODULE, PATH_WITH_PKCS11 } from '../helpers/pkcs11.ts';
import { OWNER, runVaultCommand, type Settings } from '../helpers/server-process.ts';
import { serviceOf } from '../helpers/unit.ts';
import { codeBlocksOf } from '../pages/code-blocks.ts';
import { endAll, newFolder, type ServerProcess, startProcess } from './process.ts';

setDefaultTimeout(180_000);

const ROOT = join(import.meta.dir, '../..');
const PAGE = 'docs/guides/master-key-sources.md';
const OLD = keyText(5);
const NEW = keyText(6);
const HEADERS = {
  Authorization: `Basic ${btoa(`${OWNER.name}:${OWNER.password}`)}`,
  'X-Vault-Passphrase': 'a passphrase of this test',
};
const CARD = { card_number: '4111111111111111' };
const COMMAND_FAILED = 'VAULT_MASTER_KEY_COMMAND ended with exit code 1';

const [BEGIN = '', ...STEPS] = codeBlocksOf(PAGE, readFileSync(join(ROOT, PAGE), 'utf8')).map(
  ({ code }) => code,
);

afterAll(endAll);

test('the guide has three blocks for each source, after one for all', () => {
  expect(STEPS).toHaveLength(9);
});

/** A machine of its own, on which the guide is followed. */
function machine() {
  const folder = newFolder();
  const [etc, bin, tokens, credentials, units] = ['etc', 'bin', 'tokens', 'credentials', 'units'].map(
    (name) => join(folder, name),
  ) as [string, string, string, string, string];
  for (const path of [bin, tokens, credentials]) {
    mkdirSync(path);
  }
  const started = join(folder, 'started');
  const program = (name: string, script: string): void =>
    void writePrivate(join(bin, name), `#!/bin/sh\n${script}\n`, 0o755);
  // The stock tools, after a note of what they are started with.
  const elsewhere = `${PATH_WITH_AGE}${delimiter}${PATH_WITH_PKCS11}`;
  for (const name of ['age', 'age-keygen', 'pkcs11-tool']) {
    const found = Bun.which(name, { PATH: elsewhere });
    if (found === null) {
      throw new Error(`No ${name} for the tests: run scripts/age-vendor.sh and scripts/pkcs11-vendor.sh`);
    }
    program(name, `tr '\\0' ' ' < /proc/$$/cmdline >> ${started}\nexec ${found} "$@"`);
  }
  // There is no systemd: what it encrypts is only kept.
  program('systemd-creds', '[ $1 = decrypt ] && exec cat "$3" || exec cat > "$4"');
  const here = (text: string): string =>
    text
      .replaceAll('/etc/systemd/system', units)
      .replaceAll('/etc/cardvault', etc)
      .replaceAll(MODULE, findModule());
  const softhsm = writePrivate(join(folder, 'softhsm2.conf'), `directories.tokendir = ${tokens}\n`);
  const environment = { PATH: `${bin}${delimiter}${elsewhere}`, SOFTHSM2_CONF: softhsm };
  const service = () => {
    const addition = join(units, 'cardvault.service.d/master-key.conf');
    const texts = [join(ROOT, 'deploy/cardvault.service'), addition].map((path) =>
      readFileSync(path, 'utf8'),
    );
    return serviceOf(texts.map(here), credentials);
  };
  return {
    ...{ folder, etc, tokens, data: join(folder, 'data') },
    /** All command lines of the tools so far. */
    started: (): string => readFileSync(started, 'utf8'),
    async paste(code: string, ring = ''): Promise<void> {
      const lines = ['set -eu', here(code)].join('\n');
      const stdin = new Blob([lines]);
      const env = { ...environment, RING: ring };
      const child = Bun.spawn(['/bin/sh'], { cwd: ROOT, env, stdin, stdout: 'ignore', stderr: 'pipe' });
      const [said, ended] = await Promise.all([child.stderr.text(), child.exited]);
      expect([ended, ended === 0 ? '' : said]).toEqual([0, '']);
    },
    /** The settings of the unit that are about the master key; its credentials are read again. */
    settings(): Settings {
      const { environment: given, credentials: files } = service();
      for (const [id, file] of files) {
        rmSync(join(credentials, id), { force: true });
        copyFileSync(file, join(credentials, id));
        chmodSync(join(credentials, id), 0o400);
      }
      const own = Object.entries(given).filter(([name]) => name.startsWith('VAULT_MASTER_KEY'));
      return { ...environment, ...Object.fromEntries(own), VAULT_DATA_DIR: join(folder, 'data') };
    },
    /** The settings of a command that is run outside of the unit. */
    operator(code: string): Settings {
      const [, line] = /^export VAULT_MASTER_KEY_COMMAND='(.*)'$/m.exec(here(code)) ?? [];
      return { ...environment, VAULT_MASTER_KEY_COMMAND: line, VAULT_DATA_DIR: join(folder, 'data') };
    },
  };
}
type Machine = ReturnType<typeof machine>;

/** A file that is replaced, or taken away, and what the server says. */
interface Failure {
  readonly name: string;
  readonly path: (place: Machine) => string;
  readonly text?: string;
  readonly message: string;
}

function inEtc(name: string): Failure['path'] {
  return ({ etc }) => join(etc, name);
}
const SOURCES: readonly {
  readonly name: string;
  /** Which of its command lines opens the ring. */
  readonly opens: string | undefined;
  /** Files with what only the operator knows. */
  readonly secret: readonly string[];
  readonly failures: readonly Failure[];
}[] = [
  {
    name: 'a credential of systemd',
    opens: undefined,
    secret: [],
    failures: [
      {
        name: 'that is damaged',
        path: inEtc('master-key.cred'),
        text: 'damaged',
        message: 'VAULT_MASTER_KEY_FILE must',
      },
    ],
  },
  {
    name: 'age',
    opens: '--decrypt --identity',
    secret: ['identity.txt'],
    failures: [
      { name: 'without a ring', path: inEtc('ring.age'), message: COMMAND_FAILED },
      { name: 'with an empty identity', path: inEtc('identity.txt'), text: '', message: COMMAND_FAILED },
    ],
  },
  {
    name: 'a hardware module',
    opens: '--pin env:PKCS11_PIN --decrypt',
    secret: ['pin', 'so-pin'],
    failures: [
      { name: 'with a wrong PIN', path: inEtc('pin'), text: '48151623', message: COMMAND_FAILED },
      { name: 'without its token', path: ({ tokens }) => tokens, message: COMMAND_FAILED },
    ],
  },
];

describe.each(SOURCES.map((source, index) => ({ ...source, steps: STEPS.slice(3 * index, 3 * index + 3) })))(
  '$name',
  ({ opens, secret, failures, steps: [prepare = '', write = '', operator = ''] }) => {
    const printed: string[] = [];
    let place: Machine;
    let server: ServerProcess | undefined;

    const stop = async (): Promise<void> => {
      server?.signal('SIGTERM');
      await server?.exited;
      printed.push(server?.printed() ?? '');
    };
    const restart = async (ring: string): Promise<string> => {
      await stop();
      await place.paste(write, ring);
      server = startProcess(place.settings());
      return `http://127.0.0.1:${await server.ready}/v1`;
    };
    const send = async (url: string, body?: object) => {
      const reply = await fetch(url, {
        ...{ method: body === undefined ? 'GET' : 'POST', headers: HEADERS, keepalive: false },
        body: body === undefined ? null : JSON.stringify(body),
      });
      expect(reply.status).toBeLessThan(300);
      return (await reply.json()) as { token: string };
    };

    beforeAll(async () => {
      place = machine();
      await place.paste(`${BEGIN}${prepare}`);
    });

    test('gives the ring, and another one when it changes', async () => {
      const first = await restart(`old:${OLD}`);
      await send(`${first}/key`, { user: 'u', passphrase: HEADERS['X-Vault-Passphrase'] });
      const { token } = await send(`${first}/vault?user=u`, CARD);
      const read = async (ring: string) => send(`${await restart(ring)}/vault?user=u&token=${token}`);
      expect(await read(`new:${NEW},old:${OLD}`)).toEqual(CARD as never);
      const command = ['rotate-master', '--quiet', '--json'];
      const rotated = await runVaultCommand(command, place.operator(operator), place.folder);
      printed.push(rotated.err);
      expect(JSON.parse(rotated.out)).toMatchObject({ removable: ['old'] });
      await stop();
    });

    test.each([...failures])('stops the start $name', async ({ path, text, message }) => {
      const file = path(place);
      renameSync(file, `${file}.kept`);
      if (text !== undefined) {
        writeFileSync(file, text, { mode: 0o600 });
      }
      const broken = startProcess(place.settings());
      await expect(broken.ready).rejects.toThrow(message);
      expect(await broken.exited).toBe(1);
      printed.push(broken.printed());
      rmSync(file, { force: true });
      renameSync(`${file}.kept`, file);
    });

    test('has its secrets in no log, no file of the data folder and no command line', () => {
      const lines = opens === undefined ? '' : place.started();
      expect(lines).toContain(opens ?? '');
      const kept = readdirSync(place.data, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
      expect(kept.length).toBeGreaterThan(1);
      const secrets = secret.map((name) =>
        readFileSync(join(place.etc, name), 'utf8').trim().split('\n').at(-1),
      );
      for (const one of [OLD, NEW, '48151623', ...secrets]) {
        expect([...printed, ...kept, lines].filter((text) => text.includes(String(one)))).toEqual([]);
      }
    });
  },
);
