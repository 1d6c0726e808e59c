import { Value } from '@sinclair/typebox/value';
import type { CardFacts } from '../../workers/jobs/vault/jobs.ts';
import type { BinStore } from '../bin-table/store.ts';
import { Memory } from '../core/cache.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { cardBrand } from '../domain/card/brand.ts';
import { type BinNetworks, CardMetadata } from './schema.ts';

const BIN_DIGITS = 8;
const ISSUERS_KNOWN_MAX = 10_000;
const ISSUERS_KNOWN_MS = 60_000;

/** Issuer data of cards, from the operator's BIN table. */
export class CardMetadataSource {
  /** Issuers by the first eight digits of a number. */
  private readonly known: Memory<CardMetadata['issuer']>;

  constructor(
    private readonly binStore: BinStore,
    now: Clock,
  ) {
    this.known = new Memory(ISSUERS_KNOWN_MAX, ISSUERS_KNOWN_MS, now);
  }

  async of({ bin, issuerDigits, brand }: CardFacts): Promise<CardMetadata | undefined> {
    if (bin === undefined || issuerDigits === undefined) {
      return undefined;
    }
    return { bin, brand: brand ?? 'unknown', issuer: await this.issuersOf(issuerDigits) };
  }

  /** Tells the networks of a card by its first six to eight digits: that of the number first, then those of the table. */
  async networksOf(digits: string): Promise<BinNetworks> {
    const issuers = await this.issuersOf(digits.padEnd(BIN_DIGITS, '0'));
    const own = cardBrand(digits);
    const brands = issuers.map(({ brand }) =>
      brand
        .trim()
        .toLowerCase()
        .replaceAll(/[\s_]+/g, '-'),
    );
    const networks = [...new Set([...(own === undefined ? [] : [own]), ...brands])];
    const [{ card_type, country_name: country } = {}] = issuers;
    return {
      networks,
      ...(card_type === undefined ? {} : { card_type }),
      ...(country === undefined ? {} : { country }),
    };
  }

  private async issuersOf(issuerDigits: string): Promise<CardMetadata['issuer']> {
    const known = this.known.get(issuerDigits);
    if (known !== undefined) {
      return known;
    }
    const text = await this.binStore.find(Number(issuerDigits));
    const issuers = text === undefined ? [] : parseIssuers(text);
    this.known.set(issuerDigits, issuers);
    return issuers;
  }
}

/** Parses a list of issuers. The BIN table is not sealed: any other text means that it was tampered with. */
function parseIssuers(text: string): CardMetadata['issuer'] {
  try {
    const issuers: unknown = JSON.parse(text);
    if (Value.Check(CardMetadata.properties.issuer, issuers)) {
      return issuers;
    }
  } catch {
    // Invalid JSON is the same error.
  }
  throw new VaultError('integrity_failed');
}

/** Adds `card_metadata` to the text of a JSON object. */
export function withCardMetadata(text: Uint8Array, metadata: CardMetadata | undefined): Uint8Array {
  if (!metadata) {
    return text;
  }
  const comma = text.length > 2 ? ',' : '';
  return Buffer.concat([
    text.subarray(0, -1),
    Buffer.from(`${comma}"card_metadata":${JSON.stringify(metadata)}}`),
  ]);
}
