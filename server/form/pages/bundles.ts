import type { FormBundle, FormBundles } from '../../../forms/build.ts';
import type { HttpParts } from '../../http/deps.ts';
import type { Page } from '../../http/pages/pages.ts';
import { respondWith } from '../../http/pages/public-file.ts';
import { IMMUTABLE, REVALIDATE } from '../../http/pages/static-file.ts';
import { bundlePath } from './render.ts';

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

/**
 * The scripts of forms and of the pages that embed them, for any origin: under a path with the version, which is
 * immutable, and under one that is always the newest. `/forms/sri.json` has the hash of each.
 */
export function formBundlePages({ formPages: { bundles } }: Pick<HttpParts, 'formPages'>): readonly Page[] {
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
