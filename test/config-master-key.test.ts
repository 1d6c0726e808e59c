import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../server/config/config.ts';
import { ensureMasterKey } from '../server/config/master-key.ts';

let parent = '';
let dataDir = '';
beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'cv-master-'));
  dataDir = join(parent, 'deep', 'data');
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

async function ensure() {
  return (await ensureMasterKey(loadConfig({ VAULT_DATA_DIR: dataDir }))).expose();
}

describe('the master key of staging', () => {
  test('is made once, for this user alone', async () => {
    const first = await ensure();
    expect(first.writeId).toBe('default');
    expect(first.keys.get('default')).toHaveLength(32);
    expect(statSync(join(dataDir, 'master-key')).mode & 0o777).toBe(0o600);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    expect(readdirSync(dataDir)).toEqual(['master-key']);
    expect(await ensure()).toEqual(first);
  });

  test('is the same for servers that start at once', async () => {
    const program = `
      import { loadConfig } from '${join(import.meta.dir, '../server/config/config.ts')}';
      import { ensureMasterKey } from '${join(import.meta.dir, '../server/config/master-key.ts')}';
      const ring = (await ensureMasterKey(loadConfig(process.env))).expose();
      console.log(Buffer.from(ring.keys.get(ring.writeId)).toString('base64'));`;
    const servers = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, '-e', program], { env: { VAULT_DATA_DIR: dataDir }, stdout: 'pipe' }),
    );
    const keys = await Promise.all(servers.map((server) => new Response(server.stdout).text()));
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toBe(readFileSync(join(dataDir, 'master-key'), 'utf8'));
    expect(readdirSync(dataDir)).toEqual(['master-key']);
  });

  test('is not made where one is configured', async () => {
    const key = Buffer.from('an operator chose these 32 bytes').toString('base64');
    const config = loadConfig({ VAULT_DATA_DIR: dataDir, VAULT_MASTER_KEY: key });
    expect(await ensureMasterKey(config)).toBe(config.masterKey as NonNullable<typeof config.masterKey>);
    expect(existsSync(dataDir)).toBe(false);
  });

  test('is refused, not replaced, when others may read it or it is broken', async () => {
    await ensure();
    const path = join(dataDir, 'master-key');
    chmodSync(path, 0o644);
    await expect(ensure()).rejects.toThrow(
      'master-key in VAULT_DATA_DIR names a file that other users can read',
    );
    chmodSync(path, 0o600);
    writeFileSync(path, 'nonsense');
    await expect(ensure()).rejects.toThrow(
      'master-key in VAULT_DATA_DIR must contain keys of exactly 32 bytes',
    );
    expect(readFileSync(path, 'utf8')).toBe('nonsense');
  });

  test('closes the data folder to others, and refuses one that they may write to', async () => {
    mkdirSync(dataDir, { recursive: true, mode: 0o755 });
    await ensure();
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    chmodSync(dataDir, 0o777);
    await expect(ensure()).rejects.toThrow('VAULT_DATA_DIR is a folder that other users can write to');
    rmSync(dataDir, { recursive: true });
    writeFileSync(dataDir, '');
    await expect(ensure()).rejects.toThrow('VAULT_DATA_DIR cannot be used as a folder');
  });

  test('is never made in production', async () => {
    const config = { ...loadConfig({ VAULT_DATA_DIR: dataDir }), env: 'production' } as const;
    await expect(ensureMasterKey(config)).rejects.toThrow('is required');
    expect(existsSync(dataDir)).toBe(false);
  });
});
