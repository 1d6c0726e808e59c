import { Type } from '@sinclair/typebox';
import { withoutSecretsInPassing } from '../domain/relay/sight.ts';
import { objectOf } from '../http/audit.ts';
import { keyNameIn } from '../http/key-header.ts';
import { defineRoute, type Method, type Route } from '../http/route.ts';
import { Identifier } from '../schema/common.ts';
import { PASSED_METHODS, PASSED_ON, PassedPath, passedPart } from '../schema/passed-on.ts';
import type { Relay } from './relay.ts';

interface Needs {
  readonly relay: Relay;
}

function relayBy(method: Method): Route<Needs> {
  const name = `${method.charAt(0)}${method.slice(1).toLowerCase()}`;
  return defineRoute({
    method,
    path: '/v1/relay/{connection}/{path}',
    operationId: `relay${name}`,
    scope: 'proxy:send',
    noun: 'proxy',
    summary: `Send a request on (${method})`,
    description:
      'Sends the request to the third party of a connection, with the headers of the connection, and with the stored value for each placeholder `{{vault:TOKEN:FIELD}}` or `{{vault:TOKEN:FIELD:REFERENCE}}` in body, query and header values. The header `X-Vault-Key` names the vault key. The reply comes back as it is, with the numbers that were sent replaced by their placeholders; to a credential without `vault:read` its status comes back, and the members that the connection names in `reply`, with `X-Vault-Withheld`. The request is sent once; its Idempotency-Key is for the third party. With the header `X-Vault-Inbound`, the id of an inbound of the connection and the key, cards of the reply are stored by its rules, and come as tokens; a credential then needs the scope `proxy:fetch` too.',
    auth: 'basic',
    params: Type.Object({
      connection: Identifier('The id of the connection.'),
      path: PassedPath,
    }),
    ...PASSED_ON,
    passphrase: 'required',
    errors: [
      ...([
        'connection_not_found',
        'placeholder_unknown',
        'reference_required',
        'template_limit',
        'certificate_not_found',
      ] as const),
      'path_invalid',
      ...(['passphrase_wrong', 'key_not_found', 'destination_refused'] as const),
      ...(['target_unreachable', 'target_timeout', 'outcome_unknown'] as const),
      ...(['reply_too_large', 'reply_too_complex'] as const),
      ...(['endpoint_gone', 'reply_not_storable'] as const),
    ],
    meter: ['proxy_attempt'],
    idempotent: false,
    audit: {
      action: 'proxy.send',
      of: 'errors',
      object: ({ params }) => objectOf('connection', params.connection),
    },
    handle: async ({ ctx, params, passphrase, body, request }, services: Needs) => {
      const { status, secrets, ...reply } = await services.relay.relay(ctx, {
        connection: params.connection,
        ...passedPart(request.url),
        method: request.method,
        headers: [...request.headers],
        user: keyNameIn(request.headers),
        passphrase,
        body,
      });
      return { relayed: { status, ...withoutSecretsInPassing(reply, secrets?.expose() ?? []) } };
    },
  });
}

export const RELAY_ROUTES = PASSED_METHODS.map(relayBy);
