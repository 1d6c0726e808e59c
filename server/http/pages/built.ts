import { readCookie, SESSION_COOKIE } from '../../account/session/cookie.ts';
import type { HttpConfig } from '../deps.ts';
import { pagePolicy } from './html.ts';
import type { Page } from './pages.ts';
import { IMMUTABLE, notBuilt, REVALIDATE, respondWithFile } from './static-file.ts';

export interface BuiltFile {
  /** Its name in the folder; the compressed form has the suffix `.gz`. */
  readonly name: string;
  readonly type: string;
  readonly tag: string;
  readonly isCompressed: boolean;
  /** True if its path contains the hash of its bytes. */
  readonly isImmutable: boolean;
}

export interface BuiltSite {
  /** Files by path, such as `/guide/capture`. */
  readonly files: Readonly<Record<string, BuiltFile>>;
  /** The page for all other paths. */
  readonly missing: BuiltFile;
}

interface BuiltPlace {
  /** The path above them, such as `/guide`. */
  readonly root: string;
  readonly folder: URL;
  readonly index: string;
  readonly policy: string;
  readonly notBuilt: string;
}

/** Reads the index on the first request, and again after the next build. */
function createReader({ folder, index }: BuiltPlace): () => Promise<BuiltSite | undefined> {
  let known: { readonly at: number; readonly site: BuiltSite } | undefined;
  return async () => {
    const file = Bun.file(new URL(index, folder));
    if (!(await file.exists())) {
      return undefined;
    }
    if (known?.at !== file.lastModified) {
      known = { at: file.lastModified, site: await file.json() };
    }
    return known.site;
  };
}

function respondWithBuilt(
  { folder, policy }: BuiltPlace,
  built: BuiltFile,
  request: Request,
  status = 200,
): Response {
  const { name, type, tag, isCompressed, isImmutable } = built;
  const body = Bun.file(new URL(name, folder));
  const gzip = isCompressed ? Bun.file(new URL(`${name}.gz`, folder)) : undefined;
  const headers = {
    'Cache-Control': isImmutable ? IMMUTABLE : REVALIDATE,
    ...(type.startsWith('text/html')
      ? // A page that opened it, or that it opens, cannot use its window.
        { 'Content-Security-Policy': policy, 'Cross-Origin-Opener-Policy': 'same-origin' }
      : {}),
  };
  return respondWithFile({ type, body, gzip, tag }, request, { status, headers });
}

/** Built files below a path. Paths are looked up, never opened; an unknown one gets a page with status 404. */
function builtPages(place: BuiltPlace): readonly Page[] {
  const read = createReader(place);
  const respond = async (request: Request): Promise<Response> => {
    const site = await read();
    if (site === undefined) {
      return notBuilt(place.notBuilt);
    }
    const { pathname } = new URL(request.url);
    const path = pathname.replace(/\/$/, '');
    const built = Object.hasOwn(site.files, path) ? site.files[path] : undefined;
    if (built === undefined) {
      return respondWithBuilt(place, site.missing, request, 404);
    }
    // The path is a known one: text of the caller is never repeated.
    return path === pathname
      ? respondWithBuilt(place, built, request)
      : new Response(null, { status: 308, headers: { Location: path, 'Cache-Control': REVALIDATE } });
  };
  return [place.root, `${place.root}/*`].map((path) => ({ path, respond }));
}

const SELF = { 'script-src': "'self'", 'style-src': "'self'", 'img-src': "'self'", 'connect-src': "'self'" };

/** The guide under `/guide` and the API reference under `/docs`, built by `scripts/build-guide.ts`. */
export function guidePages(folder = new URL('../../../dist/guide/', import.meta.url)): readonly Page[] {
  return ['/guide', '/docs'].flatMap((root) =>
    builtPages({
      ...{ root, folder, index: 'guide.json', policy: pagePolicy(SELF) },
      notBuilt: 'This server has no built guide. Run `bun run build:guide` in its checkout.\n',
    }),
  );
}

/**
 * The console under `/console`, built by `scripts/build-console.ts`. Only previews of forms may be on another host. It reads the
 * origins for links to forms where these are not its own: those of a separate host for forms, and of the public listener. `session`
 * tells whether the browser has a cookie of one, which its scripts cannot see.
 */
export function consolePages(
  { formsUrl, publicUrl, hasAdmin, people }: HttpConfig,
  hasProvider: boolean,
): readonly Page[] {
  const origins = {
    ...{ api: hasAdmin ? publicUrl : undefined, forms: formsUrl },
    sign_in: { passkey: people.flaw === undefined, oidc: hasProvider, password: people.hasPasswords },
  };
  const policy = pagePolicy({
    ...SELF,
    'frame-src': formsUrl ?? "'self'",
    'require-trusted-types-for': "'script'",
    'trusted-types': "'none'",
  });
  const pages = builtPages({
    ...{ root: '/console', index: 'console.json', policy },
    folder: new URL('../../../dist/console/', import.meta.url),
    notBuilt: 'The console of this server is not built. Run `bun run build:console` in its checkout.\n',
  });
  const respond = ({ headers }: Request): Response => {
    const token = readCookie(people.consoleUrl ?? '', SESSION_COOKIE, headers.get('cookie') ?? '');
    return Response.json({ ...origins, session: token !== undefined });
  };
  return [{ path: '/console/origins', respond }, ...pages];
}
