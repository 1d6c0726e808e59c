import { Elysia } from 'elysia';
import { buildOpenApi } from './openapi/document.ts';
import { docsPages } from './pages/docs.ts';
import { formBundlePages } from './pages/form-bundles.ts';
import { formGalleryPages } from './pages/form-gallery.ts';
import { guidePages } from './pages/guide.ts';
import { mountPages, operatorPages, type Page } from './pages/pages.ts';
import { sdkPages } from './pages/sdk-files.ts';
import type { HttpParts } from './plugins/http-parts.ts';
import { answerUnrouted, mountRoutes } from './plugins/shell.ts';
import { ROUTES } from './routes/table.ts';

function documentPage(publicUrl: string): Page {
  const text = JSON.stringify(buildOpenApi(ROUTES, publicUrl));
  return {
    path: '/openapi.json',
    respond: () =>
      new Response(text, { headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache' } }),
  };
}

/**
 * Builds the application: the routes of the table and the pages outside `/v1`. It does not listen (see `listen/`).
 * What the framework itself would answer, for an unknown path or an error of its own, becomes an error of ours,
 * without the framework's message.
 */
export function createApp(parts: HttpParts): Elysia {
  const app = new Elysia({
    normalize: false,
    // The framework searches for the path from a fixed position, which must be right for short host names too.
    handler: { standardHostname: parts.http.tls },
  });
  app.onError(({ code, error, request }) =>
    answerUnrouted(request, { route: '(none)', error: code === 'NOT_FOUND' ? undefined : error }, parts),
  );
  mountRoutes(app, ROUTES, parts);
  const pages = [
    ...operatorPages(parts),
    documentPage(parts.http.publicUrl),
    ...docsPages(),
    ...guidePages(),
    ...formBundlePages(parts),
    ...formGalleryPages(parts),
    ...sdkPages(),
  ];
  mountPages(app, pages, parts);
  app.compile();
  return app;
}
