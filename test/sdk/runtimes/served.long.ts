import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../../server/boot/app.ts';
import { packAll, run } from '../../helpers/packages.ts';
import { createStubParts } from '../../http/stub-parts.ts';
import { findDeno } from './programs.ts';

const RUN_MS_MAX = 60_000;
const SAY = "import { captureClient } from '@cardvault/sdk';\nconsole.log(typeof captureClient);\n";

let folder = '';
let base = '';
let server: Bun.Server<undefined>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cardvault-served-'));
  await packAll();
  const app = createApp(createStubParts());
  server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => app.handle(request) });
  base = `http://127.0.0.1:${server.port}/sdk`;
}, 60_000);
afterAll(async () => {
  await server?.stop(true);
  await rm(folder, { recursive: true, force: true });
});

/** A new project, with the first lines of one that uses the SDK. */
async function project(name: string): Promise<string> {
  const cwd = join(folder, name);
  await Bun.write(join(cwd, 'package.json'), '{ "type": "module" }');
  await Bun.write(join(cwd, 'say.js'), SAY);
  return cwd;
}

test(
  'npm installs it from the server',
  async () => {
    const cwd = await project('npm');
    await run(['npm', 'install', '--no-audit', '--no-fund', `${base}/cardvault-sdk.tgz`], cwd);
    expect(await run(['node', 'say.js'], cwd)).toBe('function\n');
  },
  RUN_MS_MAX,
);

test(
  'bun adds it from the server',
  async () => {
    const cwd = await project('bun');
    await run([process.execPath, 'add', `${base}/cardvault-sdk.tgz`], cwd);
    expect(await run([process.execPath, 'say.js'], cwd)).toBe('function\n');
  },
  RUN_MS_MAX,
);

test(
  'Deno imports it by its URL, with its types',
  async () => {
    const cwd = await project('deno');
    const deno = (...words: string[]) =>
      run([findDeno(), ...words, '--quiet', `--allow-import=127.0.0.1:${server.port}`, 'say.ts'], cwd);
    const from = SAY.replace('@cardvault/sdk', `${base}/cardvault-sdk.js`);
    await Bun.write(join(cwd, 'say.ts'), from);
    expect(await deno('run', '--check')).toBe('function\n');
    await Bun.write(join(cwd, 'say.ts'), `${from}captureClient({ url: 'u' });\n`);
    await expect(deno('check')).rejects.toThrow("Property 'secret' is missing");
  },
  RUN_MS_MAX,
);
