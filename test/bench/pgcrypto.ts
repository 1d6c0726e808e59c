/**
 * The same work by PostgreSQL with pgcrypto behind HTTP: cards are encrypted to a public key and decrypted with the private
 * one. Needs the distribution's postgresql, postgresql-contrib and gnupg.
 */
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { decryptPlan, PLAIN, storePlan } from './cards.ts';
import type { Load } from './load.ts';
import type { Phase } from './phases.ts';
import type { Plan } from './plan.ts';
import { guard } from './processes.ts';
import { OWNER, startProgram } from './servers.ts';

const CARDS = 1_000;
const CARD =
  '{"card_number":"4111111111111111","card_holder":"Ada Lovelace","expiry_month":"12","expiry_year":"2030"}';

function binaries(): string {
  const root = '/usr/lib/postgresql';
  const version = existsSync(root) ? readdirSync(root).at(-1) : undefined;
  return version === undefined ? '' : join(root, version, 'bin');
}

/** How commands run: PostgreSQL refuses to be root. */
function asPostgres(folder: string) {
  const isRoot = process.getuid?.() === 0;
  return {
    prefix: isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups'] : [],
    env: { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C.UTF-8' },
  };
}

/** Runs a command to its end and gives what it printed. */
function createRun(folder: string) {
  const { prefix, env } = asPostgres(folder);
  return (command: readonly string[], input = ''): string => {
    const { exitCode, stdout, stderr } = Bun.spawnSync([...prefix, ...command], {
      cwd: folder,
      stdin: Buffer.from(input),
      env,
    });
    if (exitCode !== 0) {
      throw new Error(`${command[0]}: ${stderr.toString().slice(-500)}`);
    }
    return stdout.toString();
  };
}

type Run = ReturnType<typeof createRun>;

interface PgpKey {
  readonly publicKey: string;
  readonly privateKey: string;
}

/** An RSA key of 3,072 bits, whose strength is that of the vault's keys (NIST SP 800-57), in armor. */
function newPgpKey(run: Run, folder: string, name: string, passphrase: string): PgpKey {
  const home = join(folder, name);
  const gpg = [
    'gpg',
    '--homedir',
    home,
    '--batch',
    '--pinentry-mode',
    'loopback',
    '--passphrase',
    passphrase,
  ];
  run(['mkdir', '-m', '700', home]);
  run([...gpg, '--quick-generate-key', name, 'rsa3072', 'sign', 'never']);
  const listed = run([...gpg, '--list-keys']).replaceAll(' ', '');
  const [fingerprint = ''] = /^[0-9A-F]{40}$/m.exec(listed) ?? [];
  run([...gpg, '--quick-add-key', fingerprint, 'rsa3072', 'encr', 'never']);
  return {
    publicKey: run([...gpg, '--armor', '--export', name]),
    privateKey: run([...gpg, '--armor', '--export-secret-keys', name]),
  };
}

/** Starts a server whose every commit is on disk before it is answered, as the vault's are. */
function startPostgres(
  run: Run,
  folder: string,
): { readonly sql: (text: string) => string; readonly stop: () => void } {
  const bin = binaries();
  const data = join(folder, 'data');
  run([join(bin, 'initdb'), '-D', data, '-A', 'trust', '-U', 'bench', '--encoding=UTF8']);
  const settings = `-c listen_addresses= -c unix_socket_directories=${folder} -c shared_buffers=512MB`;
  run([join(bin, 'pg_ctl'), '-D', data, '-w', '-l', join(folder, 'log'), '-o', settings, 'start']);
  const pid = Number(run(['head', '-n', '1', join(data, 'postmaster.pid')]));
  const forget = guard(pid);
  const psql = ['psql', '-h', folder, '-U', 'bench', '-d', 'postgres', '-qAt', '-v', 'ON_ERROR_STOP=1'];
  return {
    sql: (text) => run(psql, text),
    stop: () => {
      run([join(bin, 'pg_ctl'), '-D', data, '-m', 'fast', '-w', 'stop']);
      forget();
    },
  };
}

/** Whether what it needs is on this machine. */
export function hasPostgres(): boolean {
  return binaries() !== '' && Bun.which('gpg') !== null;
}

/** A running PostgreSQL with its phases. */
export interface Pgcrypto {
  readonly store: Phase;
  readonly decrypts: readonly Phase[];
  readonly stop: () => Promise<void>;
}

/** Cards that are sealed to a key that the passphrase of the requests locks, and after them as many to one without. */
function makeTables(run: Run, folder: string, sql: (text: string) => string): void {
  sql('CREATE EXTENSION pgcrypto; CREATE TABLE keys (name text PRIMARY KEY, public text, private text);');
  sql(`CREATE TABLE cards (id serial PRIMARY KEY, key text NOT NULL, reference text NOT NULL, data bytea NOT NULL,
         stored_at timestamptz NOT NULL DEFAULT now());
       CREATE INDEX ON cards (reference);`);
  for (const [name, passphrase] of [
    ['locked', OWNER['X-Vault-Passphrase']],
    ['open', ''],
  ] as const) {
    const { publicKey, privateKey } = newPgpKey(run, folder, name, passphrase);
    sql(`INSERT INTO keys VALUES ('${name}', '${publicKey}', '${privateKey}');
         INSERT INTO cards (key, reference, data)
         SELECT name, 'order-' || n, pgp_pub_encrypt('${CARD}', dearmor(public))
         FROM keys, generate_series(1, ${CARDS}) n WHERE name = '${name}';
         ANALYZE;`);
  }
}

/** Starts a server of its own below `folder`, with cards in it, and the service. */
export async function startPgcrypto(folder: string, load: Load): Promise<Pgcrypto> {
  mkdirSync(folder);
  if (process.getuid?.() === 0) {
    const uid = Number(Bun.spawnSync(['id', '-u', 'postgres']).stdout.toString());
    chownSync(folder, uid, -1);
    Bun.spawnSync(['chmod', '711', join(folder, '..')]);
  }
  const run = createRun(folder);
  const postgres = startPostgres(run, folder);
  makeTables(run, folder, postgres.sql);
  const service = await startProgram('pgcrypto-service.ts', [folder]);
  const plan = (first: number) =>
    decryptPlan(
      PLAIN,
      Array.from({ length: CARDS }, (_, n) => `token=${first + n}`),
    );
  // The CPU time of PostgreSQL is spread over its processes, and not measured.
  const phase = (name: string, own: Plan): Phase => ({
    name,
    isScaled: true,
    run: (seconds, connections) => load.forSeconds(service.port, own, seconds, connections),
  });
  return {
    store: phase('store: pgcrypto', storePlan(PLAIN)),
    decrypts: [
      phase('decrypt: pgcrypto, key locked', plan(1)),
      phase('decrypt: pgcrypto, key open', plan(CARDS + 1)),
    ],
    stop: async () => {
      await service.stop();
      postgres.stop();
    },
  };
}
