import type { Page } from './pages.ts';
import { IMMUTABLE, REVALIDATE, respondWithFile } from './static-file.ts';

/** Where `scripts/build-guide.ts` puts what it makes. */
const BUILT = new URL('../../../dist/guide/', import.meta.url);
const NOT_BUILT = 'This server has no guide to show: in its checkout, run `bun run build:guide`.\n';

/** One file of the built guide. */
export interface BuiltFile {
  /** Its name in the folder; the name of its compressed form has `.gz` behind it. */
  readonly name: string;
  readonly type: string;
  readonly tag: string;
  readonly isCompressed: boolean;
  /** Whether its path is never the path of other bytes. */
  readonly isImmutable: boolean;
}

/** What `guide.json` of the built guide holds. */
export interface BuiltGuide {
  /** By their paths, such as `/guide/capture`. */
  readonly files: Readonly<Record<string, BuiltFile>>;
  /** The page for all other paths. */
  readonly missing: BuiltFile;
}

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

/** Reads what was built when it is first asked for, and again when it was built anew. */
function createReader(folder: URL): () => Promise<BuiltGuide | undefined> {
  let known: { readonly at: number; readonly guide: BuiltGuide } | undefined;
  return async () => {
    const file = Bun.file(new URL('guide.json', folder));
    if (!(await file.exists())) {
      return undefined;
    }
    if (known?.at !== file.lastModified) {
      known = { at: file.lastModified, guide: await file.json() };
    }
    return known.guide;
  };
}

function respondWithBuilt(folder: URL, built: BuiltFile, request: Request, status = 200): Response {
  const { name, type, tag, isCompressed, isImmutable } = built;
  const body = Bun.file(new URL(name, folder));
  const gzip = isCompressed ? Bun.file(new URL(`${name}.gz`, folder)) : undefined;
  const headers = {
    'Cache-Control': isImmutable ? IMMUTABLE : REVALIDATE,
    ...(type.startsWith('text/html') ? { 'Content-Security-Policy': CONTENT_SECURITY_POLICY } : {}),
  };
  return respondWithFile({ type, body, gzip, tag }, request, { status, headers });
}

/**
 * The guide under `/guide`, as it was built. Paths are looked up, never opened. What is not there is a page too, with
 * status 404.
 */
export function guidePages(folder: URL = BUILT): readonly Page[] {
  const read = createReader(folder);
  const respond = async (request: Request): Promise<Response> => {
    const guide = await read();
    if (guide === undefined) {
      const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' };
      return new Response(NOT_BUILT, { status: 404, headers });
    }
    const { pathname } = new URL(request.url);
    const path = pathname.replace(/\/$/, '');
    const built = Object.hasOwn(guide.files, path) ? guide.files[path] : undefined;
    if (built === undefined) {
      return respondWithBuilt(folder, guide.missing, request, 404);
    }
    // The path is one of those that there are: what a caller made up is never repeated.
    return path === pathname
      ? respondWithBuilt(folder, built, request)
      : new Response(null, { status: 308, headers: { Location: path, 'Cache-Control': REVALIDATE } });
  };
  return ['/guide', '/guide/*'].map((path) => ({ path, respond }));
}
