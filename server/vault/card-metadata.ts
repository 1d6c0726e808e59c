import { Value } from '@sinclair/typebox/value';
import type { CardFacts } from '../../workers/jobs/vault/jobs.ts';
import type { BinStore } from '../bin-table/store.ts';
import { createMemory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { CardMetadata } from './schema.ts';

const ISSUERS_KNOWN_MAX = 10_000;
const ISSUERS_KNOWN_MS = 60_000;
const encoder = new TextEncoder();

/** Issuer data of cards, from the operator's BIN table. */
export interface CardMetadataSource {
  readonly of: (card: CardFacts) => Promise<CardMetadata | undefined>;
}

/** The BIN table is not sealed; what is no list of issuers was put there by somebody else. */
function parseIssuers(text: string): CardMetadata['issuer'] {
  try {
    const issuers: unknown = JSON.parse(text);
    if (Value.Check(CardMetadata.properties.issuer, issuers)) {
      return issuers;
    }
  } catch {
    // Not even JSON: the same error.
  }
  throw new VaultError('integrity_failed');
}

export function createCardMetadata({
  binStore,
  now,
}: {
  readonly binStore: Pick<BinStore, 'find'>;
  readonly now: Clock;
}): CardMetadataSource {
  const memory = createMemory<CardMetadata['issuer']>(ISSUERS_KNOWN_MAX, ISSUERS_KNOWN_MS, now);

  const issuersOf = async (digits: string): Promise<CardMetadata['issuer']> => {
    const known = memory.get(digits);
    if (known) {
      return known;
    }
    const text = await binStore.find(Number(digits));
    const issuers = text === undefined ? [] : parseIssuers(text);
    memory.set(digits, issuers);
    return issuers;
  };

  return {
    async of({ bin, issuerDigits, brand }) {
      if (bin === undefined || issuerDigits === undefined) {
        return undefined;
      }
      return { bin, brand: brand ?? 'unknown', issuer: await issuersOf(issuerDigits) };
    },
  };
}

/** Puts `card_metadata` beside the members of a JSON object's text. */
export function withCardMetadata(text: Uint8Array, metadata: CardMetadata | undefined): Uint8Array {
  if (!metadata) {
    return text;
  }
  const comma = text.length > 2 ? ',' : '';
  return Buffer.concat([
    text.subarray(0, -1),
    encoder.encode(`${comma}"card_metadata":${JSON.stringify(metadata)}}`),
  ]);
}
