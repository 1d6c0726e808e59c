import { version } from '../../../package.json';
import type { Page } from './pages.ts';
import { notBuilt, REVALIDATE, respondWith } from './static-file.ts';

const NOT_PACKED = 'This server has no packed SDK. Run `bun run pack:sdk` in its checkout.\n';
const TYPES = 'cardvault-sdk.d.ts';

/** Reads the file on the first request, and again after it has changed: the SDK can be packed while the server runs. */
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
 * The SDK of this version, packed by `scripts/pack-sdk.ts`, for any origin: a tarball that package managers install from its
 * URL, with and without the version in its path, and the module with its types for browsers and Deno.
 */
export function sdkPages(folder = new URL('../../../dist/sdk/', import.meta.url)): readonly Page[] {
  const tarball = `cardvault-sdk-${version}.tgz`;
  const tarballAt = (name: string): Page => ({
    path: `/sdk/${name}`,
    respond: respondFrom(new URL(tarball, folder), 'application/gzip', false),
  });
  const textAt = (name: string, type: string): Page => ({
    path: `/sdk/${name}`,
    respond: respondFrom(new URL(name, folder), type, true),
  });
  const script = textAt('cardvault-sdk.js', 'text/javascript; charset=utf-8');
  return [
    tarballAt('cardvault-sdk.tgz'),
    tarballAt(tarball),
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
