/** A token in software, as an operator makes one with the stock tools. */
import { mkdirSync, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { writePrivate } from './config.ts';

const VENDORED = join(import.meta.dir, '../../.vendor/pkcs11');
/** Where programs are looked for: they are of this machine, or what scripts/pkcs11-vendor.sh unpacks. */
const PATH_WITH_PKCS11 = [process.env['PATH'], VENDORED, join(VENDORED, 'usr/bin')].join(delimiter);
const MODULES = ['/usr/lib/softhsm/libsofthsm2.so', join(VENDORED, 'usr/lib/softhsm/libsofthsm2.so')];

/** A token with an RSA key that never leaves it. */
export interface Token {
  readonly module: string;
  readonly label: string;
  readonly key: string;
  readonly pin: string;
  /** What its tools need in their environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Encrypts a ring to the key, into a file. */
  readonly seal: (ring: string, file: string) => Promise<void>;
}

async function run(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  input = '',
): Promise<void> {
  const child = Bun.spawn([...command], { stdin: new Blob([input]), stdout: 'ignore', stderr: 'pipe', env });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) {
    throw new Error(`${command[0]} ended with exit code ${code}: ${said}. Run scripts/pkcs11-vendor.sh`);
  }
}

/** Makes a token in a folder. */
export async function createToken(folder: string): Promise<Token> {
  const found = MODULES.find((path) => Bun.file(path).size > 0);
  if (found === undefined) {
    throw new Error('No SoftHSM for the tests: run scripts/pkcs11-vendor.sh');
  }
  const module = realpathSync(found);
  const tokens = join(folder, 'tokens');
  mkdirSync(tokens, { recursive: true });
  const settings = writePrivate(join(folder, 'softhsm2.conf'), `directories.tokendir = ${tokens}\n`);
  const environment = { PATH: PATH_WITH_PKCS11, SOFTHSM2_CONF: settings };
  const [label, key, pin] = ['vault', 'ring', '48151623'];
  const tool = ['pkcs11-tool', '--module', module, '--token-label', label];
  const init = ['softhsm2-util', '--module', module, '--init-token', '--free', '--label', label];
  await run([...init, '--so-pin', '99887766', '--pin', pin], environment);
  const generate = ['--keypairgen', '--key-type', 'rsa:3072', '--label', key, '--usage-decrypt'];
  await run([...tool, '--login', '--pin', pin, ...generate, '--id', '01'], environment);
  const half = join(folder, 'ring.der');
  await run(
    [...tool, '--read-object', '--type', 'pubkey', '--label', key, '--output-file', half],
    environment,
  );
  return {
    ...{ module, label, key, pin, environment },
    async seal(ring, file) {
      const padding = ['-pkeyopt', 'rsa_padding_mode:oaep', '-out', file];
      const encrypt = ['openssl', 'pkeyutl', '-encrypt', '-pubin', '-keyform', 'DER', '-inkey', half];
      await run([...encrypt, ...padding], environment, ring);
    },
  };
}
