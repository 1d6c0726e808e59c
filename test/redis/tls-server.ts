/** A Redis that speaks TLS on its port, with certificates of a private authority. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../helpers/free-port.ts';
import { launchRedis, newRedisFolder, sendCommand, socketIn } from '../helpers/redis-process.ts';
import { type Authority, type Credential, newAuthority } from '../outbound/certificates.ts';

/** Certificates and their files, of which `VAULT_REDIS_…_FILE` may name any. */
export interface TestFiles {
  readonly authority: Authority;
  /** Writes a file with mode 0600 and gives its path. */
  readonly write: (name: string, text: string) => string;
  readonly remove: () => void;
}

/** An authority, and a folder for what it issues. */
export async function newFiles(): Promise<TestFiles> {
  const folder = mkdtempSync(join(tmpdir(), 'cv-redis-tls-'));
  return {
    authority: await newAuthority('Redis Test Root'),
    write(name, text) {
      const path = join(folder, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The certificate of a server on loopback. */
export function issueServer({ authority }: TestFiles, name = '127.0.0.1'): Promise<Credential> {
  const type = name === '127.0.0.1' ? 'ip' : 'dns';
  return authority.issue({ names: [{ type, value: name }] });
}

/** What makes a Redis speak TLS on a port, in the terms of its configuration. */
export function tlsOptions(
  files: TestFiles,
  port: number,
  { certPem, keyPem }: Credential,
): Readonly<Record<string, string>> {
  return {
    port: '0',
    'tls-port': `${port}`,
    'tls-cert-file': files.write(`server-${port}.pem`, certPem),
    'tls-key-file': files.write(`server-${port}.key`, keyPem),
    'tls-ca-cert-file': files.write('ca.pem', files.authority.pem),
  };
}

/** Starts a Redis with TLS alone on its port; with `wantsClient`, only who shows a certificate of the authority may come. */
export async function startTlsRedis(
  files: TestFiles,
  {
    credential,
    wantsClient = false,
    isCluster = false,
  }: { readonly credential?: Credential; readonly wantsClient?: boolean; readonly isCluster?: boolean } = {},
) {
  const folder = newRedisFolder();
  const port = freePort();
  const options = {
    ...tlsOptions(files, port, credential ?? (await issueServer(files))),
    'tls-auth-clients': wantsClient ? 'yes' : 'no',
    ...(isCluster
      ? {
          'cluster-enabled': 'yes',
          'cluster-announce-ip': '127.0.0.1',
          'tls-cluster': 'yes',
          'cluster-port': `${freePort()}`,
        }
      : {}),
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = await launchRedis(folder, true, ['--bind', '127.0.0.1', ...args]);
  return {
    port,
    url: `rediss://127.0.0.1:${port}`,
    command: (text: string): Promise<string> => sendCommand(socketIn(folder), text),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
