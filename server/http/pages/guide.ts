import { keep } from '../../guide/keep.ts';
import { createGuide } from '../../guide/library.ts';
import { ASK_AGAIN, FOR_EVER, type Packed, packBeside, packedResponse } from './packed.ts';
import type { Page } from './pages.ts';

/** Nothing comes from another host, and nothing that stands in a page is a script or a style. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const headersOf = (type: string, isForEver: boolean): Record<string, string> => ({
  'Cache-Control': isForEver ? FOR_EVER : ASK_AGAIN,
  ...(type.startsWith('text/html') ? { 'Content-Security-Policy': CONTENT_SECURITY_POLICY } : {}),
});

type Served = Packed & { readonly isForEver: boolean };

/**
 * The guide under `/guide`: pages of the Markdown files of `docs/`, with what they load and the index of their search.
 * What is not there is a page too, with status 404.
 */
export const guidePages = (): readonly Page[] => {
  const guide = createGuide();
  const find = keep(async (path: string): Promise<Served | undefined> => {
    const leaf = await guide.find(path);
    return (
      leaf && { ...(await packBeside(leaf.type, leaf.bytes, leaf.isPackable)), isForEver: leaf.isForEver }
    );
  });

  const missing = keep(async (_: 'page') => {
    const { type, bytes } = await guide.missing();
    return packBeside(type, bytes, true);
  });

  const respond = async (request: Request): Promise<Response> => {
    const { pathname } = new URL(request.url);
    const path = pathname.replace(/\/$/, '');
    const found = await find(path);
    if (found === undefined) {
      const page = await missing('page');
      return packedResponse(page, request, { status: 404, headers: headersOf(page.type, false) });
    }
    // The path is one of those that there are: what a caller made up is never repeated.
    return path === pathname
      ? packedResponse(found, request, { headers: headersOf(found.type, found.isForEver) })
      : new Response(null, { status: 308, headers: { Location: path, 'Cache-Control': ASK_AGAIN } });
  };

  return ['/guide', '/guide/*'].map((path) => ({ path, respond }));
};
