import type { Elysia } from 'elysia';
import { createClientAddress } from '../client-address.ts';
import { arrive, endRequest, errorReply, type HttpContext, reportError, UNROUTED } from '../context.ts';
import type { HttpDeps } from '../deps.ts';
import { answerUnrouted, isOnFormsHost, mountAll } from '../mount.ts';
import { peerOf } from '../request.ts';

/** A page outside `/v1`: public, read only, without a schema. */
export interface Page {
  readonly path: string;
  /** True for callers without an account: the public listener and the separate host for forms have it too. */
  readonly isPublic?: boolean;
  readonly respond: (request: Request) => Promise<Response> | Response;
}

/** A page that calls services: its requests have an address, and count for the rate of that. */
export interface ServicePage {
  readonly path: string;
  readonly isPublic?: never;
  readonly serve: (request: Request, ctx: HttpContext) => Promise<Response>;
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

async function answerPage(
  page: Page | ServicePage,
  request: Request,
  ip: string,
  deps: HttpDeps,
): Promise<Response> {
  const ctx = arrive(request, page.path, deps, ip);
  let response: Response;
  try {
    if ('serve' in page) {
      await deps.rates.source(ip);
      response = await page.serve(request, ctx);
    } else {
      response = await page.respond(request);
    }
    response.headers.set('X-Request-Id', ctx.requestId);
    response.headers.set('X-Content-Type-Options', 'nosniff');
    response.headers.set('Referrer-Policy', 'no-referrer');
  } catch (error) {
    response = errorReply(ctx, reportError(error, ctx, deps));
  }
  return endRequest(ctx, response, deps);
}

/** Mounts pages for GET and HEAD; other methods are rejected. */
export function mountPages(app: Elysia, pages: readonly (Page | ServicePage)[], deps: HttpDeps): void {
  const clientAddress = createClientAddress(deps.http.trustedProxies);
  for (const page of pages) {
    mountAll(app, page.path, ({ request, server }) => {
      if (page.isPublic !== true && isOnFormsHost(deps.http, request)) {
        return answerUnrouted(request, { route: UNROUTED }, deps);
      }
      const ip = 'serve' in page ? clientAddress(peerOf({ request, server }), request.headers) : '';
      return request.method === 'GET' || request.method === 'HEAD'
        ? answerPage(page, request, ip, deps)
        : answerUnrouted(request, { route: page.path, allow: 'GET, HEAD' }, deps);
    });
  }
}
