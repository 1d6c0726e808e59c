import { Elysia } from 'elysia';
import { buildOpenApi } from './openapi/document.ts';
import { docsPages } from './pages/docs.ts';
import { formBundlePages } from './pages/form-bundles.ts';
import { formGalleryPages } from './pages/form-gallery.ts';
import { guidePages } from './pages/guide.ts';
import { mountPages, operatorPages, type Page } from './pages/pages.ts';
import { sdkPages } from './pages/sdk-files.ts';
import type { HttpConfig, HttpParts } from './plugins/http-parts.ts';
import { answerUnrouted, mountRoutes } from './plugins/shell.ts';
import { isPublic, ROUTES } from './routes/table.ts';

function documentPage({ publicUrl, hasAdmin }: HttpConfig): Page {
  const shown = hasAdmin ? isPublic : undefined;
  const whole = JSON.stringify(buildOpenApi(ROUTES, publicUrl, shown));
  const callsOnly = JSON.stringify(buildOpenApi(ROUTES, publicUrl, shown, false));
  return {
    path: '/openapi.json',
    respond: (request) =>
      new Response(new URL(request.url).searchParams.get('webhooks') === 'false' ? callsOnly : whole, {
        headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' },
      }),
  };
}

/** What an application has: everything, or only what is used without an account. */
type Extent = 'all' | 'public';

/**
 * Builds the application: the routes of the table and the pages outside `/v1`, as far as they belong to it. A path outside
 * of the extent is an unknown one. It does not listen (see `listen/`).
 * What the framework itself would answer, for an unknown path or an error of its own, becomes an error of ours,
 * without the framework's message.
 */
export function createApp(parts: HttpParts, extent: Extent = 'all'): Elysia {
  const app = new Elysia({
    normalize: false,
    // The framework searches for the path from a fixed position, which must be right for short host names too.
    handler: { standardHostname: parts.http.tls },
  });
  app.onError(({ code, error, request }) =>
    answerUnrouted(request, { route: '(none)', error: code === 'NOT_FOUND' ? undefined : error }, parts),
  );
  const isAll = extent === 'all';
  mountRoutes(app, isAll ? ROUTES : ROUTES.filter(isPublic), parts);
  const pages = [
    ...operatorPages(parts),
    documentPage(parts.http),
    ...docsPages(),
    ...guidePages(),
    ...formBundlePages(parts),
    ...formGalleryPages(parts),
    ...sdkPages(),
  ];
  mountPages(app, isAll ? pages : pages.filter((page) => page.isPublic === true), parts);
  app.compile();
  return app;
}
