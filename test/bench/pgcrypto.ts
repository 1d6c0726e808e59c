/**
 * The same work by PostgreSQL with pgcrypto: an INSERT that encrypts a card to a public key, a SELECT that decrypts
 * one with the private key and its passphrase. Needs the distribution's postgresql, postgresql-contrib and gnupg.
 */
import { chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Phase } from './phases.ts';
import { guard, startPiped } from './processes.ts';

const CARDS = 1_000;
const PASSPHRASE = 'a-passphrase-for-measurements-only';
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

const STORE = `\\set n random(1, 1000000000)
INSERT INTO cards (reference, data)
  SELECT 'order-' || :n, pgp_pub_encrypt('${CARD}', dearmor(public)) FROM keys WHERE name = 'locked';
`;
function decryptSql(key: string, passphrase: string): string {
  return `\\set id random(1, ${CARDS})
SELECT pgp_pub_decrypt(data, dearmor(private), '${passphrase}') FROM cards_${key}, keys WHERE id = :id AND name = '${key}';
`;
}

/** How often a second a script runs under pgbench, which tells no percentiles. */
async function bench(folder: string, file: string, seconds: number, clients: number): Promise<number> {
  const { prefix, env } = asPostgres(folder);
  const child = startPiped(
    [
      ...[...prefix, 'pgbench', '-h', folder, '-U', 'bench', '-n', '-M', 'prepared'],
      ...['-c', String(clients), '-j', '1', '-T', String(seconds), '-f', join(folder, file), 'postgres'],
    ],
    { cwd: folder, env },
  );
  const output = await new Response(child.stdout).text();
  const rate = Number(/^tps = ([\d.]+)/m.exec(output)?.[1]);
  if (!(rate > 0)) {
    throw new Error(`pgbench failed: ${output.slice(-500)}`);
  }
  return rate;
}

/** Whether what it needs is on this machine. */
export function hasPostgres(): boolean {
  return binaries() !== '' && Bun.which('gpg') !== null && Bun.which('pgbench') !== null;
}

/** A running PostgreSQL with its phases. */
export interface Pgcrypto {
  readonly store: Phase;
  readonly decrypts: readonly Phase[];
  readonly stop: () => void;
}

/** Tables of cards, sealed to a key that a passphrase locks, and to one without; the scripts of pgbench. */
function makeTables(run: Run, folder: string, sql: (text: string) => string): void {
  const keys = [
    { name: 'locked', passphrase: PASSPHRASE },
    { name: 'open', passphrase: '' },
  ].map((each) => ({ ...each, ...newPgpKey(run, folder, each.name, each.passphrase) }));
  sql('CREATE EXTENSION pgcrypto; CREATE TABLE keys (name text, public text, private text);');
  sql('CREATE TABLE cards (id serial PRIMARY KEY, reference text NOT NULL, data bytea NOT NULL);');
  sql('CREATE INDEX ON cards (reference);');
  for (const { name, publicKey, privateKey, passphrase } of keys) {
    sql(`INSERT INTO keys VALUES ('${name}', '${publicKey}', '${privateKey}');`);
    sql(`CREATE TABLE cards_${name} AS SELECT n AS id, pgp_pub_encrypt('${CARD}', dearmor(public)) AS data
         FROM keys, generate_series(1, ${CARDS}) n WHERE name = '${name}';
         CREATE UNIQUE INDEX ON cards_${name} (id); ANALYZE;`);
    writeFileSync(join(folder, `${name}.sql`), decryptSql(name, passphrase));
  }
  writeFileSync(join(folder, 'store.sql'), STORE);
}

/** Starts a server of its own below `folder`, with cards in it. */
export function startPgcrypto(folder: string): Pgcrypto {
  mkdirSync(folder);
  if (process.getuid?.() === 0) {
    const uid = Number(Bun.spawnSync(['id', '-u', 'postgres']).stdout.toString());
    chownSync(folder, uid, -1);
    Bun.spawnSync(['chmod', '711', join(folder, '..')]);
  }
  const run = createRun(folder);
  const { sql, stop } = startPostgres(run, folder);
  makeTables(run, folder, sql);
  const phase = (name: string, file: string): Phase => ({
    name,
    isScaled: false,
    run: async (seconds, connections) => {
      const rate = await bench(folder, file, seconds, connections);
      return { requests: Math.round(rate * seconds), seconds };
    },
  });
  return {
    store: phase('store: pgcrypto', 'store.sql'),
    decrypts: [
      phase('decrypt: pgcrypto, key locked', 'locked.sql'),
      phase('decrypt: pgcrypto, key open', 'open.sql'),
    ],
    stop,
  };
}
