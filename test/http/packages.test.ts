import { beforeAll, describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { version } from '../../package.json';
import { sdkPages } from '../../server/http/pages/sdk-files.ts';
import { packSdk } from '../helpers/packed-sdk.ts';
import { createClient } from './client.ts';

const NOBODY = { headers: { authorization: '' } };
const TARBALL = `cardvault-sdk-${version}.tgz`;
const PATHS = ['cardvault-sdk.tgz', TARBALL, 'cardvault-sdk.js', 'cardvault-sdk.d.ts'];

describe('the SDK of this server', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await packSdk();
  }, 60_000);

  test.each([
    ['cardvault-sdk.tgz', TARBALL, 'application/gzip'],
    [TARBALL, TARBALL, 'application/gzip'],
    ['cardvault-sdk.js', 'cardvault-sdk.js', 'text/javascript; charset=utf-8'],
    ['cardvault-sdk.d.ts', 'cardvault-sdk.d.ts', 'application/typescript; charset=utf-8'],
  ])('/sdk/%s is what was packed, for any origin', async (name, packed, type) => {
    const client = createClient();
    const answer = await client.send('GET', `/sdk/${name}`, NOBODY);
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
    expect(await client.send('GET', `/sdk/${name}`, again)).toMatchObject({ status: 304, text: '' });
  });

  test('the module is packed for the way, and says where its types are', async () => {
    const headers = { ...NOBODY.headers, 'Accept-Encoding': 'gzip, br' };
    const answer = await createClient().send('GET', '/sdk/cardvault-sdk.js', { headers });
    expect(answer.headers.get('Content-Encoding')).toBe('gzip');
    expect(answer.headers.get('X-TypeScript-Types')).toBe('./cardvault-sdk.d.ts');
  });

  test('has the version of the server', async () => {
    expect((await import('../../sdk/package.json')).version).toBe(version);
  });
});

test('a server whose SDK was not packed says how to', async () => {
  const pages = sdkPages(pathToFileURL(join(tmpdir(), 'no-such-folder/')));
  expect(pages.map(({ path }) => path)).toEqual(PATHS.map((name) => `/sdk/${name}`));
  for (const { path, respond } of pages) {
    const response = await respond(new Request(`http://localhost${path}`));
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('bun run pack:sdk');
  }
});
