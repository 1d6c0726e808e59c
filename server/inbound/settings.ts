import type { EndpointPolicy } from '../../workers/jobs/endpoint/jobs.ts';
import { VaultError } from '../core/errors.ts';
import type { InboundRules } from '../domain/inbound/rules.ts';
import type { ItemMetadata } from '../domain/mask/metadata.ts';

/** The header with the number of tokens that were put into a message. */
export const STORED_HEADER = 'X-Vault-Stored';

export const DEFAULT_ALGORITHM = 'full';

/** What an inbound does with the cards of a message. */
export interface CardSettings {
  readonly id: string;
  readonly connection: string;
  readonly rules: InboundRules;
  readonly algorithm: string;
  readonly ttl: string | undefined;
  readonly metadata: ItemMetadata | undefined;
}

/** Returns the settings of an inbound from its policy. */
export function inboundOf({
  id,
  policy: { inbound, algorithm = DEFAULT_ALGORITHM },
}: {
  readonly id: string;
  readonly policy: EndpointPolicy;
}): CardSettings {
  if (inbound === undefined) {
    throw new VaultError('integrity_failed');
  }
  const { connection, extract, allow, strict, ttl, metadata } = inbound;
  return { id, connection, rules: { extract, allow, strict }, algorithm, ttl, metadata };
}
