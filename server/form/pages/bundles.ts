import type { FormBundle, FormBundles } from '../../../forms/build.ts';
import { VaultError } from '../../core/errors.ts';
import type { HttpConfig } from '../../http/deps.ts';
import { isOnFormsHost } from '../../http/mount.ts';
import type { Page } from '../../http/pages/pages.ts';
import {
  IMMUTABLE,
  REVALIDATE,
  respondWith,
  respondWithFile,
  staticFileOf,
} from '../../http/pages/static-file.ts';
import { bundlePath, type FormPages } from './render.ts';

function inventory({ version, files }: FormBundles): Uint8Array<ArrayBuffer> {
  const integrity = Object.fromEntries(files.map((file) => [file.name, file.integrity]));
  return new TextEncoder().encode(`${JSON.stringify({ version, integrity }, null, 2)}\n`);
}

function pagesOf(bundles: FormBundles, { name, bytes }: FormBundle): readonly Page[] {
  const file = { bytes, type: 'text/javascript; charset=utf-8', isCompressible: true };
  return [
    {
      path: bundlePath(bundles, name),
      isPublic: true,
      respond: respondWith({ ...file, caching: IMMUTABLE }),
    },
    { path: `/forms/${name}`, isPublic: true, respond: respondWith({ ...file, caching: REVALIDATE }) },
  ];
}

/** Scripts of forms for any origin, under an immutable path and a newest one; `/forms/sri.json` has their hashes. */
export function formBundlePages({ options: { bundles } }: FormPages): readonly Page[] {
  return [
    ...bundles.files.flatMap((file) => pagesOf(bundles, file)),
    {
      path: '/forms/sri.json',
      isPublic: true,
      respond: respondWith({
        bytes: inventory(bundles),
        type: 'application/json',
        caching: REVALIDATE,
        isCompressible: true,
      }),
    },
  ];
}

const ELEMENT_SCRIPT = 'vault-element.js';

function elementPage(src: string, { integrity }: FormBundle): string {
  return `<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cardvault</title>
</head>
<body>
<script src="${src}" integrity="${integrity}" crossorigin></script>
</body>
</html>
`;
}

/**
 * The page of a single field, at the origin of the API, where no script of an owner ever runs unsandboxed: so that the
 * frames of one checkout reach each other, and nothing else reaches them. It loads and calls the origin that it came from,
 * whatever name the server has there. The host for forms has no such page.
 */
export function elementPages(http: HttpConfig, { options: { bundles } }: FormPages): readonly Page[] {
  const script = bundles.files.find(({ name }) => name === ELEMENT_SCRIPT);
  if (script === undefined) {
    return [];
  }
  const file = staticFileOf(
    'text/html; charset=utf-8',
    new TextEncoder().encode(elementPage(bundlePath(bundles, ELEMENT_SCRIPT), script)),
    true,
  );
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  const headers = {
    'Cache-Control': REVALIDATE,
    'Content-Security-Policy': policy,
    // A page that is isolated so itself may embed it; any other may too.
    'Cross-Origin-Embedder-Policy': 'require-corp',
    'Cross-Origin-Resource-Policy': 'cross-origin',
    'Permissions-Policy': 'clipboard-write=*, camera=(), microphone=(), geolocation=(), payment=()',
  };
  return [
    {
      path: '/forms/element',
      isPublic: true,
      respond: (request) => {
        if (isOnFormsHost(http, request)) {
          throw new VaultError('not_found');
        }
        return respondWithFile(file, request, { headers });
      },
    },
  ];
}
