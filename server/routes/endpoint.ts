import { Type } from '@sinclair/typebox';
import type { NewEndpoint } from '../deps.ts';

/** A query without parameters. */
export const NO_QUERY = Type.Object({});

/** A new endpoint with its secret in the open: the only reply that ever holds it. */
export const shownOnce = ({ url, unique_id, secret, expires_at }: NewEndpoint) => ({
  url,
  unique_id,
  secret: secret.expose(),
  expires_at,
});
