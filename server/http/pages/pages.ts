import type { Elysia } from 'elysia';
import { arrive, endRequest, errorReply, reportError, UNROUTED } from '../context.ts';
import type { HttpDeps } from '../deps.ts';
import { answerUnrouted, isOnFormsHost, mountAll } from '../mount.ts';

/** A page outside `/v1`: public, read only, without a schema. */
export interface Page {
  readonly path: string;
  /** True for callers without an account: the public listener and the separate host for forms have it too. */
  readonly isPublic?: boolean;
  readonly respond: (request: Request) => Promise<Response> | Response;
}

function json(value: object, status = 200): Response {
  return Response.json(value, { status, headers: { 'Cache-Control': 'no-store' } });
}

/** Health for supervisors and load balancers, and metrics for Prometheus. */
export function operatorPages({ health, metrics, scrape }: HttpDeps): readonly Page[] {
  return [
    { path: '/health/live', isPublic: true, respond: () => json({ status: 'ok' }) },
    {
      path: '/health/ready',
      isPublic: true,
      respond: async () => {
        const { ready, checks, unsafe } = await health.ready();
        return json({ status: ready ? 'ok' : 'failing', checks, unsafe }, ready ? 200 : 503);
      },
    },
    {
      path: '/metrics',
      respond: async () =>
        new Response(await (scrape?.() ?? metrics.render()), {
          headers: {
            'Content-Type': 'text/plain; version=0.0.4; charset=utf-8',
            'Cache-Control': 'no-store',
          },
        }),
    },
  ];
}

async function answerPage(page: Page, request: Request, deps: HttpDeps): Promise<Response> {
  const ctx = arrive(request, page.path, deps);
  let response: Response;
  try {
    response = await page.respond(request);
    response.headers.set('X-Request-Id', ctx.requestId);
    response.headers.set('X-Content-Type-Options', 'nosniff');
    response.headers.set('Referrer-Policy', 'no-referrer');
  } catch (error) {
    response = errorReply(ctx, reportError(error, ctx, deps));
  }
  return endRequest(ctx, response, deps);
}

/** Mounts pages for GET and HEAD; other methods are rejected. */
export function mountPages(app: Elysia, pages: readonly Page[], deps: HttpDeps): void {
  for (const page of pages) {
    mountAll(app, page.path, ({ request }) => {
      if (page.isPublic !== true && isOnFormsHost(deps.http, request)) {
        return answerUnrouted(request, { route: UNROUTED }, deps);
      }
      return request.method === 'GET' || request.method === 'HEAD'
        ? answerPage(page, request, deps)
        : answerUnrouted(request, { route: page.path, allow: 'GET, HEAD' }, deps);
    });
  }
}
