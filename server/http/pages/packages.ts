import { version } from '../../../package.json';
import type { Page } from './pages.ts';
import { notBuilt, REVALIDATE, respondWith } from './static-file.ts';

const NOT_PACKED = 'This server has no packages. Run `bun run pack` in its checkout.\n';
const TYPES = 'cardvault-sdk.d.ts';

/** Reads the file on the first request, and again after it has changed: they can be packed while the server runs. */
function respondFrom(file: URL, type: string, isCompressible: boolean): Page['respond'] {
  let known: { readonly at: number; readonly respond: Page['respond'] } | undefined;
  return async (request) => {
    const found = Bun.file(file);
    if (!(await found.exists())) {
      return notBuilt(NOT_PACKED);
    }
    if (known?.at !== found.lastModified) {
      const bytes = new Uint8Array(await found.arrayBuffer());
      known = {
        at: found.lastModified,
        respond: respondWith({ type, isCompressible, bytes, caching: REVALIDATE }),
      };
    }
    return known.respond(request);
  };
}

/**
 * The SDK and the forms of this version, packed by `scripts/pack.ts`, for any origin: tarballs that package managers install from
 * their URL, with and without the version in its path, and the module of the SDK with its types for browsers and Deno.
 */
export function packagePages(folder = new URL('../../../dist/packages/', import.meta.url)): readonly Page[] {
  const tarballsOf = (name: 'sdk' | 'forms'): readonly Page[] => {
    const tarball = `cardvault-${name}-${version}.tgz`;
    const respond = respondFrom(new URL(tarball, folder), 'application/gzip', false);
    return [`cardvault-${name}.tgz`, tarball].map((file) => ({ path: `/${name}/${file}`, respond }));
  };
  const textAt = (name: string, type: string): Page => ({
    path: `/sdk/${name}`,
    respond: respondFrom(new URL(name, folder), type, true),
  });
  const script = textAt('cardvault-sdk.js', 'text/javascript; charset=utf-8');
  return [
    ...tarballsOf('sdk'),
    ...tarballsOf('forms'),
    {
      path: script.path,
      respond: async (request) => {
        const response = await script.respond(request);
        // Deno finds the types by this header.
        response.headers.set('X-TypeScript-Types', `./${TYPES}`);
        return response;
      },
    },
    textAt(TYPES, 'application/typescript; charset=utf-8'),
  ];
}
