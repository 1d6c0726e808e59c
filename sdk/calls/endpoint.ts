import type { ApiCall, ConnectionOptions, EndpointSegment } from '../transport/call.ts';
import { VaultError } from '../transport/errors.ts';
import { checkedSecret } from '../transport/headers.ts';
import { CONNECTION, checkNames } from '../transport/needed.ts';
import { createTransport, type Transport } from '../transport/transport.ts';
import type { EndpointAccess } from '../transport/types.ts';

/** Options of a client of one endpoint. */
export interface EndpointOptions extends ConnectionOptions {
  /** The endpoint's whole URL, such as `https://vault.example/v1/capture/web-shop`. */
  readonly url: string;
  /** As creating the endpoint returned it. */
  readonly secret: string;
}

/** An endpoint, and a transport without the credentials of an account. */
export interface EndpointLink {
  readonly transport: Transport;
  readonly access: EndpointAccess;
}

const ADDRESS = /^(.*)\/v1\/(capture|retrieve)\/([\w.@:-]{1,128})\/?$/;

/**
 * Splits the URL or path of an endpoint. Throws a VaultError for an endpoint of the other kind, and for any other
 * text.
 */
function partsOf(kind: EndpointSegment, url: string): { readonly base: string; readonly uniqueId: string } {
  const [, base, found, uniqueId] = ADDRESS.exec(url) ?? [];
  if (base === undefined || uniqueId === undefined || found !== kind) {
    throw new VaultError(`url must be that of a ${kind} endpoint.`);
  }
  return { base, uniqueId };
}

/** Checks the options of a third party. `others` are names of options that are not of the connection. Sends nothing. */
export function linkTo(
  kind: EndpointSegment,
  options: EndpointOptions,
  others: readonly string[] = [],
): EndpointLink {
  checkNames(options, ['url', 'secret', ...others, ...CONNECTION]);
  const { url, secret, ...connection } = options;
  const { base, uniqueId } = partsOf(kind, url);
  if (base === '') {
    throw new VaultError('url must be whole: put the address of the vault before the path.');
  }
  return {
    transport: createTransport({ ...connection, baseUrl: base }),
    access: { unique_id: uniqueId, secret: checkedSecret(secret) },
  };
}

/** The parts of a call that address an endpoint. A `url` must be a path of this service. */
export function callTo(
  kind: EndpointSegment,
  { unique_id, url, secret }: EndpointAccess,
): Pick<ApiCall, 'path' | 'secret'> {
  if (unique_id !== undefined) {
    return { path: [kind, unique_id], secret: { kind, text: secret } };
  }
  const { base, uniqueId } = partsOf(kind, url);
  if (base !== '') {
    throw new VaultError('url must be the path that creating the endpoint returned.');
  }
  return { path: [kind, uniqueId], secret: { kind, text: secret } };
}
