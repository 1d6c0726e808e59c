import { VaultError } from '../../core/errors.ts';
import type { HttpConfig } from '../../http/deps.ts';
import { defineRoute } from '../../http/route.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import type { OidcSignIns } from './oidc-sign-ins.ts';
import { BeginOidc, BegunOidc } from './schema.ts';

interface Needs {
  readonly http: HttpConfig;
  readonly oidcSignIns?: OidcSignIns | undefined;
}

const begin = defineRoute({
  noun: 'person',
  auth: 'console',
  scope: 'none',
  meter: [],
  method: 'POST',
  path: '/v1/person/signin/oidc',
  operationId: 'beginOidc',
  summary: 'Begin a sign-in with OpenID Connect',
  description:
    'Gives the address at the provider where a person signs in, and sets a cookie that binds the sign-in to the browser: once, within ten minutes. 404 without a provider. For the console alone.',
  body: { kind: 'json', schema: BeginOidc, bytesMax: BODY_BYTES.short },
  response: BegunOidc,
  errors: ['not_found', 'provider_unavailable'],
  handle: async ({ ctx, request }, { oidcSignIns, http }: Needs) => {
    if (oidcSignIns === undefined) {
      throw new VaultError('not_found');
    }
    const origin = request.headers.get('origin');
    if (origin !== null && origin !== http.people.consoleUrl) {
      // The provider leads back to the console's own address, where the cookie of another one is not sent.
      throw new VaultError('cross_site');
    }
    const { url, cookie } = await oidcSignIns.begin(ctx);
    return { json: { url }, headers: { 'Set-Cookie': cookie } };
  },
});

export const OIDC_ROUTES = [begin];
