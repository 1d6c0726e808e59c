import type { Page } from './pages.ts';
import { IMMUTABLE, REVALIDATE, respondWithFile } from './static-file.ts';

/** The output folder of `scripts/build-guide.ts`. */
const BUILT = new URL('../../../dist/guide/', import.meta.url);
const NOT_BUILT = 'This server has no built guide. Run `bun run build:guide` in its checkout.\n';

/** One file of the built guide. */
export interface BuiltFile {
  /** Its name in the folder; the compressed form has the suffix `.gz`. */
  readonly name: string;
  readonly type: string;
  readonly tag: string;
  readonly isCompressed: boolean;
  /** Whether its path contains the hash of its bytes. */
  readonly isImmutable: boolean;
}

/** The contents of `guide.json`. */
export interface BuiltGuide {
  /** By their paths, such as `/guide/capture`. */
  readonly files: Readonly<Record<string, BuiltFile>>;
  /** The page for all other paths. */
  readonly missing: BuiltFile;
}

/** Nothing may be loaded from another host, and inline scripts and styles are forbidden. */
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

/** Reads the index of the guide on the first request, and again after the next build. */
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
 * The built guide under `/guide`. Paths are looked up, never opened. An unknown path is answered with a page and
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
    // The path is a known one: text of the caller is never repeated.
    return path === pathname
      ? respondWithBuilt(folder, built, request)
      : new Response(null, { status: 308, headers: { Location: path, 'Cache-Control': REVALIDATE } });
  };
  return ['/guide', '/guide/*'].map((path) => ({ path, respond }));
}
