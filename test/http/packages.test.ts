import { beforeAll, describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { version } from '../../package.json';
import { packagePages } from '../../server/http/pages/packages.ts';
import { packAll } from '../helpers/packages.ts';
import { createClient } from './client.ts';

const NOBODY = { headers: { authorization: '' } };
const TARBALL = `cardvault-sdk-${version}.tgz`;
const FORMS = `cardvault-forms-${version}.tgz`;
const PATHS = [
  ...['/sdk/cardvault-sdk.tgz', `/sdk/${TARBALL}`],
  ...['/forms/cardvault-forms.tgz', `/forms/${FORMS}`],
  ...['/sdk/cardvault-sdk.js', '/sdk/cardvault-sdk.d.ts'],
];

describe('the packages of this server', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await packAll();
  }, 60_000);

  test.each([
    ['/sdk/cardvault-sdk.tgz', TARBALL, 'application/gzip'],
    [`/sdk/${TARBALL}`, TARBALL, 'application/gzip'],
    ['/forms/cardvault-forms.tgz', FORMS, 'application/gzip'],
    [`/forms/${FORMS}`, FORMS, 'application/gzip'],
    ['/sdk/cardvault-sdk.js', 'cardvault-sdk.js', 'text/javascript; charset=utf-8'],
    ['/sdk/cardvault-sdk.d.ts', 'cardvault-sdk.d.ts', 'application/typescript; charset=utf-8'],
  ])('%s is what was packed, for any origin', async (name, packed, type) => {
    const client = createClient();
    const answer = await client.send('GET', name, NOBODY);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('Content-Type')).toBe(type);
    expect(answer.headers.get('Content-Encoding')).toBeNull();
    expect(answer.headers.get('Access-Control-Allow-Origin')).toBe('*');
    expect(answer.headers.get('Cache-Control')).toBe('no-cache');
    const file = Bun.file(join(folder, packed));
    const tag = new Bun.CryptoHasher('sha256')
      .update(await file.bytes())
      .digest('hex')
      .slice(0, 32);
    expect(answer.headers.get('ETag')).toBe(`W/"${tag}"`);
    expect(answer.text).toBe(await file.text());
    const again = { headers: { ...NOBODY.headers, 'If-None-Match': `W/"${tag}"` } };
    expect(await client.send('GET', name, again)).toMatchObject({ status: 304, text: '' });
  });

  test('the module is packed for the way, and says where its types are', async () => {
    const headers = { ...NOBODY.headers, 'Accept-Encoding': 'gzip, br' };
    const answer = await createClient().send('GET', '/sdk/cardvault-sdk.js', { headers });
    expect(answer.headers.get('Content-Encoding')).toBe('gzip');
    expect(answer.headers.get('X-TypeScript-Types')).toBe('./cardvault-sdk.d.ts');
  });

  test('have the version of the server', async () => {
    for (const manifest of [import('../../sdk/package.json'), import('../../forms/package.json')]) {
      expect((await manifest).version).toBe(version);
    }
  });
});

test('a server whose packages were not made says how to', async () => {
  const pages = packagePages(pathToFileURL(join(tmpdir(), 'no-such-folder/')));
  expect(pages.map(({ path }) => path)).toEqual(PATHS);
  for (const { path, respond } of pages) {
    const response = await respond(new Request(`http://localhost${path}`));
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('bun run pack`');
  }
});
