import { VaultError } from '../core/errors.ts';
import { prefersHtml } from '../http/accept.ts';
import type { HttpServices } from '../http/deps.ts';
import type { Reply } from '../http/route.ts';
import type { EndpointWithSecret } from './endpoints.ts';

/** A new endpoint with its secret in the open: the only reply that ever holds it. */
export function shownOnce({ url, unique_id, secret, expires_at }: EndpointWithSecret) {
  return {
    url,
    unique_id,
    secret: secret.expose(),
    expires_at,
  };
}

/** What an endpoint reaches, as far as its page names it. */
interface Lock {
  readonly token?: string | undefined;
  readonly reference?: string | undefined;
}

/** Rejects a page for an endpoint that is not limited to a token: a page displays one item. */
export function rejectUnlockedPage(request: Request, { token }: Lock): void {
  if (token === undefined && prefersHtml(request.headers.get('accept'))) {
    const expected = 'is missing: a page shows one item';
    throw new VaultError('invalid_request', { field: 'query.token', expected });
  }
}

/** A card form that works with a new endpoint as it stands; undefined for who wants the endpoint itself. */
export function readyPage(
  { request, services }: { readonly request: Request; readonly services: Pick<HttpServices, 'formPages'> },
  { unique_id, secret }: EndpointWithSecret,
  lock: Lock = {},
): Reply | undefined {
  if (!prefersHtml(request.headers.get('accept'))) {
    return undefined;
  }
  const { token, reference } = lock;
  const visit = {
    unique_id,
    secret: secret.expose(),
    ...(token === undefined ? {} : { token }),
    ...(reference === undefined ? {} : { reference }),
  };
  return services.formPages.render(
    { form_type: 'pcd', settings: {} },
    { onFormsHost: false, testing: false, visit },
  );
}
