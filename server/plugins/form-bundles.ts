import type { Deps, FormBundle, FormBundles } from '../deps.ts';
import { allowAnyOrigin } from './cors.ts';
import { bundlePath } from './form-pages.ts';
import type { Page } from './pages.ts';

const FOR_EVER = 'public, max-age=31536000, immutable';
const ASK_AGAIN = 'no-cache';

/** Whether the caller holds these very bytes already. */
const isHeld = (headers: Headers, tag: string): boolean =>
  (headers.get('if-none-match') ?? '').split(',').some((held) => held.trim().replace(/^W\//, '') === tag);

const respondWith = (plain: Uint8Array<ArrayBuffer>, type: string, caching: string): Page['respond'] => {
  const packed = Bun.gzipSync(plain);
  const tag = `"${new Bun.CryptoHasher('sha256').update(plain).digest('hex').slice(0, 32)}"`;
  return ({ headers }) => {
    const isPacked = headers.get('accept-encoding')?.includes('gzip') === true;
    const init = {
      headers: {
        'Content-Type': type,
        'Cache-Control': caching,
        'Cross-Origin-Resource-Policy': 'cross-origin',
        // The packed bytes are others, so that only a weak tag can stand for both.
        ETag: `W/${tag}`,
        Vary: 'Accept-Encoding',
      },
    };
    const isSame = isHeld(headers, tag);
    const response = isSame
      ? new Response(null, { status: 304, ...init })
      : new Response(isPacked ? packed : plain, init);
    if (isPacked && !isSame) {
      response.headers.set('Content-Encoding', 'gzip');
    }
    allowAnyOrigin(response.headers);
    return response;
  };
};

const inventory = ({ version, files }: FormBundles): Uint8Array<ArrayBuffer> => {
  const integrity = Object.fromEntries(files.map((file) => [file.name, file.integrity]));
  return new TextEncoder().encode(`${JSON.stringify({ version, integrity }, null, 2)}\n`);
};

const pagesOf = (bundles: FormBundles, { name, bytes }: FormBundle): readonly Page[] => {
  const type = 'text/javascript; charset=utf-8';
  return [
    {
      path: bundlePath(bundles, name),
      onFormsHost: true,
      respond: respondWith(bytes, type, FOR_EVER),
    },
    { path: `/forms/${name}`, onFormsHost: true, respond: respondWith(bytes, type, ASK_AGAIN) },
  ];
};

/**
 * The scripts of forms and of the pages around them, for any origin: under a path with the version, which never
 * changes what it holds, and under one that is always the newest. `/forms/sri.json` has the hash of each.
 */
export const formBundlePages = ({ formPages: { bundles } }: Pick<Deps, 'formPages'>): readonly Page[] => [
  ...bundles.files.flatMap((file) => pagesOf(bundles, file)),
  {
    path: '/forms/sri.json',
    onFormsHost: true,
    respond: respondWith(inventory(bundles), 'application/json', ASK_AGAIN),
  },
];
