import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildForms, type FormBundles } from '../../forms/build.ts';
import manifest from '../../forms/package.json';

const ROOT = join(import.meta.dir, '..', '..');
/** What the scripts are made of; the packages beside it are the same ones. */
const SOURCES = ['forms', 'sdk/seal', 'server', 'package.json', 'tsconfig.json'];
const NAMES = ['vault-forms.js', 'vault-forms.global.js', 'vault-form-page.js', 'vault-element.js'];
/** At most, after gzip. The pages have about 1.5 KB for sealing what they send and read, so that TLS need not end at the vault. */
const BYTES_MAX: Readonly<Record<string, number>> = {
  'vault-forms.js': 8 * 1024,
  'vault-forms.global.js': 8 * 1024,
  'vault-form-page.js': 31 * 1024,
  'vault-element.js': 20 * 1024,
};

const folder = mkdtempSync(join(tmpdir(), 'cv-forms-'));
let built: FormBundles;

beforeAll(async () => {
  built = await buildForms();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The project's sources in another folder. */
function copyTo(name: string): string {
  const copy = join(folder, name);
  mkdirSync(copy);
  for (const source of SOURCES) {
    cpSync(join(ROOT, source), join(copy, source), { recursive: true });
  }
  rmSync(join(copy, 'forms', 'dist'), { recursive: true, force: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Builds in a process of its own, in that folder and with that environment; gives version and hashes. */
async function buildIn(copy: string, env: Record<string, string>): Promise<unknown> {
  const program = `
    import { buildForms } from ${JSON.stringify(join(copy, 'forms', 'build.ts'))};
    const { version, files } = await buildForms();
    console.log(JSON.stringify({ version, files: files.map(({ name, text, integrity }) => ({ name, text, integrity })) }));
  `;
  const child = Bun.spawn([process.execPath, '-e', program], {
    cwd: copy,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  if ((await child.exited) !== 0) {
    throw new Error(errors);
  }
  return JSON.parse(output);
}

describe('the build', () => {
  test('is the same in every folder and surrounding', async () => {
    const expected = {
      version: built.version,
      files: built.files.map(({ name, text, integrity }) => ({ name, text, integrity })),
    };
    const [one, other] = await Promise.all([
      buildIn(copyTo('a'), {}),
      buildIn(copyTo('another folder'), { NODE_ENV: 'development', HOME: folder, TZ: 'Asia/Tokyo' }),
    ]);
    expect(one).toEqual(expected);
    expect(other).toEqual(expected);
  });

  test('has a version that differs when a script does', async () => {
    expect(built.version).toMatch(new RegExp(`^${RegExp.escape(manifest.version)}-[0-9a-f]{8}$`));
    const copy = copyTo('changed');
    const file = join(copy, 'forms/frame/heard.ts');
    await Bun.write(file, (await Bun.file(file).text()).replace('HEIGHT_MAX = 5000', 'HEIGHT_MAX = 5001'));
    expect(await buildIn(copy, {})).not.toHaveProperty('version', built.version);
  });
});

describe.each(NAMES)('%s', (name) => {
  const file = () => {
    const found = built.files.find((each) => each.name === name);
    if (found === undefined) {
      throw new Error(`The build has no ${name}`);
    }
    return found;
  };

  test('has the hash of its bytes', () => {
    const { bytes, text, integrity } = file();
    expect(new TextEncoder().encode(text)).toEqual(bytes);
    expect(integrity).toBe(`sha384-${new Bun.CryptoHasher('sha384').update(bytes).digest('base64')}`);
  });

  test('is as small as promised', () => {
    expect(Bun.gzipSync(file().bytes).length).toBeLessThanOrEqual(BYTES_MAX[name] ?? 0);
  });

  test('names no place, no source map and nothing of the server', () => {
    const { text } = file();
    expect(text).not.toContain(ROOT);
    expect(text).not.toMatch(/sourceMappingURL|node_modules|\/(?:home|root|tmp|work|Users)\/|\.ts\b/);
    expect(text).not.toMatch(/\bprocess\b|\brequire\(|\bBuffer\b|\bBun\b|node:|TypeBox/);
  });

  test('loads nothing and stores nothing', () => {
    const { text } = file();
    expect(text).not.toMatch(/\bimport\s*\(|\bfrom\s*["']|\bimport\s*["']|importScripts/);
    expect(text).not.toMatch(/localStorage|sessionStorage|indexedDB|document\.cookie|sendBeacon|WebSocket/);
    expect(text).not.toMatch(
      /\beval\(|new Function\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write/,
    );
    const urls = text.match(/\b(?:https?|wss?):\/\/[^"'`\s)]+/g) ?? [];
    expect(urls.filter((url) => !url.startsWith('http://www.w3.org/'))).toEqual([]);
  });
});

test('the module exports what the package promises', () => {
  const [module] = built.files;
  const { exports } = new Bun.Transpiler({ loader: 'js' }).scan(module?.text ?? '');
  expect(exports.sort()).toEqual([
    ...['VaultCardForm', 'defineVaultCardForm', 'elements', 'mountCardForm', 'mountForm', 'reveal'],
  ]);
});

test('the classic script is one function and leaves one global', () => {
  const { text = '' } = built.files[1] ?? {};
  expect(text).toMatch(/^\(\(\)=>\{.*\}\)\(\);\s*$/s);
  expect(text.match(/Object\.assign\(globalThis,\{(\w+):/)?.[1]).toBe('VaultForms');
});
