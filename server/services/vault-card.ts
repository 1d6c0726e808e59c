import type { CardFacts, Parts } from '../deps.ts';
import type { CardMetadata } from '../schema/vault.ts';

const ISSUERS_KNOWN_MAX = 10_000;
const ISSUERS_KNOWN_MS = 60_000;
const encoder = new TextEncoder();

/** Issuer data of cards, from the operator's BIN table. */
export interface CardMetadataSource {
  readonly of: (card: CardFacts) => Promise<CardMetadata | undefined>;
}

export function createCardMetadata({ binStore, now }: Pick<Parts, 'binStore' | 'now'>): CardMetadataSource {
  const known = new Map<number, { readonly issuers: CardMetadata['issuer']; readonly until: number }>();

  const issuersOf = async (bin: string): Promise<CardMetadata['issuer']> => {
    const number = Number(bin.padEnd(8, '0'));
    const found = known.get(number);
    if (found && found.until > now()) {
      return found.issuers;
    }
    const text = await binStore.find(number);
    const issuers = text === undefined ? [] : (JSON.parse(text) as CardMetadata['issuer']);
    if (known.size >= ISSUERS_KNOWN_MAX) {
      known.clear();
    }
    known.set(number, { issuers, until: now() + ISSUERS_KNOWN_MS });
    return issuers;
  };

  return {
    async of({ bin, brand }) {
      if (bin === undefined) {
        return undefined;
      }
      return { bin, brand: brand ?? 'unknown', issuer: await issuersOf(bin) };
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
