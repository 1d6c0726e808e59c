import { Elysia } from 'elysia';
import { elementPages, formBundlePages } from '../form/pages/bundles.ts';
import { formGalleryPages } from '../form/pages/gallery.ts';
import { UNROUTED } from '../http/context.ts';
import type { HttpConfig, HttpDeps } from '../http/deps.ts';
import { answerUnrouted, mountRoutes } from '../http/mount.ts';
import { buildOpenApi } from '../http/openapi/document.ts';
import { consolePages, guidePages } from '../http/pages/built.ts';
import { landingPages } from '../http/pages/landing.ts';
import { packagePages } from '../http/pages/packages.ts';
import { mountPages, operatorPages, type Page } from '../http/pages/pages.ts';
import { signInPages } from '../http/pages/sign-in.ts';
import { REVALIDATE, respondWithFile, type StaticFile, staticFileOf } from '../http/pages/static-file.ts';
import { API, isPublic, ROUTES, type RouteServices } from './routes.ts';

function documentPage({ publicUrl, hasAdmin }: HttpConfig): Page {
  const shown = hasAdmin ? isPublic : undefined;
  // Compressed once, at the first request for it.
  const documents = new Map<boolean, StaticFile>();
  const documentOf = (hasWebhooks: boolean): StaticFile => {
    const text = JSON.stringify(
      buildOpenApi(hasWebhooks ? API : { ...API, webhooks: undefined }, publicUrl, shown),
    );
    const file = staticFileOf('application/json', new TextEncoder().encode(text), true);
    documents.set(hasWebhooks, file);
    return file;
  };
  return {
    path: '/openapi.json',
    respond: (request) => {
      const hasWebhooks = new URL(request.url).searchParams.get('webhooks') !== 'false';
      const file = documents.get(hasWebhooks) ?? documentOf(hasWebhooks);
      return respondWithFile(file, request, { headers: { 'Cache-Control': REVALIDATE } });
    },
  };
}

/** Services of all routes, and the part around every request. */
export interface AppDeps extends HttpDeps, RouteServices {}

/** The routes and pages of an application: all, or only those that need no account. */
type Extent = 'all' | 'public';

/**
 * Builds the application: the routes of the table and the pages outside `/v1`, as far as they belong to it. A path outside
 * of the extent is an unknown one. It does not listen (see `listen/`). Replies of the framework, to an unknown path or an
 * error inside it, are replaced by errors of the vault, without the framework's message.
 */
export function createApp(deps: AppDeps, extent: Extent = 'all'): Elysia {
  const app = new Elysia({
    normalize: false,
    // The framework searches for the path from a fixed position, which must be right for short host names too.
    handler: { standardHostname: deps.http.tls },
  });
  app.onError(({ code, error, request }) =>
    answerUnrouted(request, { route: UNROUTED, error: code === 'NOT_FOUND' ? undefined : error }, deps),
  );
  const isAll = extent === 'all';
  mountRoutes(app, isAll ? ROUTES : ROUTES.filter(isPublic), deps, deps);
  const pages = [
    ...operatorPages(deps),
    ...landingPages(deps.formPages.options.gallery),
    documentPage(deps.http),
    ...guidePages(),
    ...signInPages(deps.http.people.consoleUrl, deps),
    ...consolePages(deps.http, deps.oidcSignIns !== undefined),
    ...formBundlePages(deps.formPages),
    ...elementPages(deps.http, deps.formPages),
    ...formGalleryPages(deps.formPages),
    ...packagePages(),
  ];
  mountPages(app, isAll ? pages : pages.filter((page) => page.isPublic === true), deps);
  app.compile();
  return app;
}
